"""get_now: the current date and time in one time zone.

Reads the clock and the system's time zone files; it converts no given moment and guesses no zone from a place.
"""

UTC_NAMES = ("utc", "z", "zulu", "gmt", "etc/utc", "etc/gmt")


def refuse(ctx, error_class, english, italian):
    message = italian if ctx.language == "it" else english
    return {"ok": False, "error_class": error_class, "error": message}


def spelled_as_stored(name, roots):
    """The zone's name as its file spells it, whatever the case and with spaces for underscores; None if there is none."""
    import os

    wanted = [part.casefold() for part in name.replace(" ", "_").split("/")]
    if any(part in ("", ".", "..") for part in wanted):
        return None
    for root in roots:
        found, folder = [], root
        for part in wanted:
            try:
                names = sorted(os.listdir(folder))
            except OSError:
                break
            match = next((entry for entry in names if entry.casefold() == part), None)
            if match is None:
                break
            found.append(match)
            folder = os.path.join(folder, match)
        if len(found) == len(wanted):
            return "/".join(found)
    return None


def load_zone(name):
    """(zone, its name), or (None, None) where no such zone is known. UTC needs no file."""
    from datetime import timezone

    if name.strip().casefold() in UTC_NAMES:
        return timezone.utc, "UTC"
    import zoneinfo

    for candidate in (name.strip(), None):
        if candidate is None:
            candidate = spelled_as_stored(name.strip(), zoneinfo.TZPATH)
        if not candidate:
            continue
        try:
            return zoneinfo.ZoneInfo(candidate), candidate
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            continue
    return None, None


def zone_files_exist():
    import os
    import zoneinfo

    return any(os.path.isdir(root) for root in zoneinfo.TZPATH)


def run(args, ctx):
    from datetime import datetime, timezone

    asked = args.get("timezone")
    if asked is not None and not isinstance(asked, str):
        return refuse(ctx, "invalid_args", "The time zone must be a text.", "Il fuso orario deve essere un testo.")
    zone, name = load_zone(asked or ctx.timezone or "UTC")
    if zone is None and not asked:
        # The instance's own zone cannot be read here: UTC, under its own name, is still true.
        zone, name = timezone.utc, "UTC"
    if zone is None:
        if not zone_files_exist():
            return refuse(
                ctx,
                "dependency_unavailable",
                "This machine has no time zone data.",
                "Su questa macchina mancano i dati dei fusi orari.",
            )
        return refuse(
            ctx,
            "invalid_args",
            "There is no time zone called «%s»; a name looks like Europe/Rome." % asked,
            "Non esiste un fuso orario chiamato «%s»; un nome è per esempio Europe/Rome." % asked,
        )
    now = datetime.now(timezone.utc)
    local = now.astimezone(zone).replace(microsecond=0)
    content = local.isoformat()
    return {
        "ok": True,
        "content": content,
        "metadata": {
            "timezone": name,
            "utc_offset": content[19:25],
            "date": content[:10],
            "time": content[11:16],
            "weekday": local.isoweekday(),
            "unix_s": int(now.timestamp()),
        },
    }
