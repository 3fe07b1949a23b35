"""move_files: says what goes where, by a folder or a pattern of names; the core moves it and takes it back.

It never moves anything itself. Whether a place is taken is found out when the effects are planned; that two things would
get one name is refused here.
"""

import os

MOVES_MAX = 100000
FIELDS = ("name", "stem", "ext", "dir", "n", "year", "month", "day", "date", "type", "size", "taken_year", "taken_month", "taken_day", "taken_date")
TYPES = {
    "picture": "jpg jpeg png gif bmp tif tiff webp heic heif svg raw cr2 nef arw dng ico psd",
    "video": "mp4 mkv avi mov wmv webm m4v mpg mpeg flv 3gp ts vob",
    "audio": "mp3 flac wav ogg m4a aac opus wma aiff mid",
    "document": "pdf doc docx odt rtf txt md xls xlsx ods csv tsv ppt pptx odp epub tex html htm xml json",
    "archive": "zip tar gz tgz bz2 xz 7z rar zst iso deb rpm",
    "code": "py rs c h cpp hpp js ts java go rb php sh pl lua swift kt sql css toml yaml yml",
}


class Refused(Exception):
    def __init__(self, error_class, english, italian):
        super().__init__(english)
        self.error_class, self.english, self.italian = error_class, english, italian


def sources(args):
    """What is moved: entries as they are, paths as entries with what the disk says about them."""
    paths, entries = args.get("paths"), args.get("entries")
    if paths is not None and entries is not None:
        raise Refused("invalid_args", "Either paths or entries, not both.", "O paths o entries, non tutti e due.")
    given = [{"path": path} for path in paths or []] if entries is None else entries
    if not isinstance(given, list) or (paths is not None and not given):
        raise Refused("missing_input", "What to move is missing.", "Manca cosa spostare.")
    if len(given) > MOVES_MAX:
        raise Refused("too_large", "At most %d things are moved at once." % MOVES_MAX, "Si spostano al massimo %d elementi alla volta." % MOVES_MAX)
    for item in given:
        path = item.get("path") if isinstance(item, dict) else None
        if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
            raise Refused("invalid_args", "A path is missing or is no path.", "Un percorso manca o non è un percorso.")
    return given


def exact(item):
    """The path as the system names it: bytes that are no UTF-8 as escapes."""
    b64 = item.get("path_b64")
    if not b64:
        return item["path"].rstrip("/") or "/"
    import base64

    try:
        return os.fsdecode(base64.b64decode(b64, validate=True)).rstrip("/") or "/"
    except ValueError:
        raise Refused("invalid_args", "path_b64 is no base64.", "path_b64 non è base64.")


def written(path):
    """A path for an effect: its text, and its bytes where the text is not the whole of it."""
    raw = os.fsencode(path)
    text = raw.decode("utf-8", "replace")
    if text == path:
        return text, None
    import base64

    return text, base64.b64encode(raw).decode("ascii")


def parse(template):
    """The template as a list of plain texts and (field, width)."""
    import re

    parts, end = [], 0
    for match in re.finditer(r"\{([a-z_]+)(?::0?(\d{1,2}))?\}", template):
        if match.group(1) not in FIELDS:
            raise Refused("invalid_args", "{%s} is unknown; there are: %s." % (match.group(1), ", ".join(FIELDS)), "{%s} è sconosciuto; ci sono: %s." % (match.group(1), ", ".join(FIELDS)))
        parts.append(template[end : match.start()])
        parts.append((match.group(1), int(match.group(2) or 0)))
        end = match.end()
    parts.append(template[end:])
    if any(isinstance(part, str) and ("{" in part or "}" in part) for part in parts):
        raise Refused("invalid_args", "A brace in the pattern closes nothing.", "Una graffa nel modello non chiude niente.")
    return parts


def zone_of(ctx):
    from datetime import timezone

    try:
        from zoneinfo import ZoneInfo

        return ZoneInfo(ctx.timezone)
    except Exception:  # Without a database of zones the days are those of UTC.
        return timezone.utc


def moment(text, zone):
    """A moment in the person's own zone; a capture date without a zone is as the camera wrote it."""
    from datetime import datetime

    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except (AttributeError, ValueError):
        return None
    return found.astimezone(zone) if found.tzinfo else found


def values(item, path, number, zone, needed):
    """The fields of one thing that the template needs; None where it is not known."""
    name = os.path.basename(path)
    stem, dot, ext = name.rpartition(".")
    if not dot or not stem:
        stem, ext = name, ""
    found = {"name": name, "stem": stem, "ext": ext, "dir": os.path.dirname(path), "n": number, "size": item.get("size")}
    if "type" in needed:
        found["type"] = next((kind for kind, known in TYPES.items() if ext.lower() in known.split()), "other")
    modified = item.get("modified")
    if (modified is None and needed & {"year", "month", "day", "date"}) or (found["size"] is None and "size" in needed):
        try:
            status = os.lstat(path)
        except OSError:
            status = None
        if status is not None:
            from datetime import datetime, timezone

            found["size"] = status.st_size if found["size"] is None else found["size"]
            modified = modified or datetime.fromtimestamp(status.st_mtime, timezone.utc).isoformat()
    for prefix, text in (("", modified), ("taken_", item.get("taken"))):
        when = moment(text, zone) if text and any(field.startswith(prefix) for field in needed) else None
        if when is not None:
            found[prefix + "year"], found[prefix + "month"], found[prefix + "day"] = "%04d" % when.year, "%02d" % when.month, "%02d" % when.day
            found[prefix + "date"] = "%04d-%02d-%02d" % (when.year, when.month, when.day)
    return found


def filled(parts, fields):
    """The destination, or the field that is not known."""
    made = ""
    for part in parts:
        if isinstance(part, str):
            made += part
            continue
        field, width = part
        value = fields.get(field)
        if value is None:
            return None, field
        text = str(value)
        if field == "ext" and not text:
            made = made[:-1] if made.endswith(".") else made  # No extension, no dot.
        made += text.zfill(width) if width else text
    return made, None


def normal(path):
    """Without doubled slashes; a part that leads elsewhere is refused."""
    pieces = [piece for piece in path.split("/") if piece]
    if not path.startswith("/") or any(piece in (".", "..") for piece in pieces) or "\0" in path:
        raise Refused("invalid_args", "%s is no plain path." % path, "%s non è un percorso semplice." % path)
    if any(len(os.fsencode(piece)) > 255 for piece in pieces):
        raise Refused("invalid_args", "A name in it is longer than the system allows.", "Un nome è più lungo di quanto il sistema permette.")
    return "/" + "/".join(pieces)


def into_folder(template, several):
    """Whether a template names folders only, so that each thing keeps its name below them.

    What was found by a search goes into a folder even if it is one thing; a last part that is all placeholders without a
    name in them ({type}, {year}-{month}) is a folder too.
    """
    if template.endswith("/"):
        return True
    last = template.rsplit("/", 1)[-1]
    if any("{" + field in last for field in ("name", "stem", "ext", "n}", "n:")):
        return False
    return "." not in last if "{" in last else several


def planned(args, ctx):
    template = args.get("dst_template")
    if not isinstance(template, str) or not template:
        raise Refused("missing_input", "Where to move it is missing.", "Manca dove spostarlo.")
    if_exists = args.get("if_exists") or "fail"
    if if_exists not in ("fail", "number", "replace"):
        raise Refused("invalid_args", "if_exists is fail, number or replace.", "if_exists è fail, number o replace.")
    items = sources(args)
    if into_folder(template, len(items) > 1 or "entries" in args):
        template = template.rstrip("/") + "/{name}"
    parts = parse(template)
    needed = {part[0] for part in parts if not isinstance(part, str)}
    if len(items) > 1 and not needed - {"dir"} and if_exists != "number":
        raise Refused("invalid_args", "Several things cannot all get the name %s." % template, "Più elementi non possono avere tutti il nome %s." % template)
    zone = zone_of(ctx) if any(field.endswith(("year", "month", "day", "date")) for field in needed) else None
    effects, skipped, taken, seen = [], [], {}, set()
    for item in items:
        src = exact(item)
        if src in seen:
            continue
        seen.add(src)
        made, unknown = filled(parts, values(item, src, len(seen), zone, needed))
        if made is None:
            word = "the %s is not known" % unknown if ctx.language != "it" else "%s non è noto" % unknown
            if "path" in item and len(item) == 1 and not os.path.lexists(src):
                # A folder is not shown to this program either, so it cannot say which of the two it is.
                word = "it is not there, or its %s cannot be seen" % unknown if ctx.language != "it" else "non c'è, o non se ne può vedere: %s" % unknown
            skipped.append({"path": written(src)[0], "error_class": "not_found", "error": word})
            continue
        dst = normal(made)
        if dst in taken and if_exists != "number":
            raise Refused("invalid_args", "%s and %s would both become %s." % (taken[dst], written(src)[0], written(dst)[0]), "%s e %s diventerebbero tutti e due %s." % (taken[dst], written(src)[0], written(dst)[0]))
        taken[dst] = written(src)[0]
        effect = {"op": "move", "if_exists": if_exists}
        for key, path in (("src", src), ("dst", dst)):
            effect[key], b64 = written(path)
            if b64:
                effect[key + "_b64"] = b64
        effects.append(effect)
    if skipped and not effects:
        raise Refused("not_found", "Of none of them: %s." % skipped[0]["error"], "Per nessuno di essi: %s." % skipped[0]["error"])
    return {"ok": True, "effects": effects, "metadata": {"count": len(seen), "skipped": skipped}}


def run(args, ctx):
    try:
        return planned(args, ctx)
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
