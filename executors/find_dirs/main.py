"""find_dirs: the folders of a folder tree by name, date and emptiness, each with how many entries it holds.

It looks at names and metadata only, never into a file, and follows no link: a link to a folder is no folder here.
"""

import os
import stat as modes
import time

# Entries that one reply may hold, in bytes of JSON as the reply writes them.
REPLY_BYTES = 28 * 1024 * 1024
# Seconds kept for sorting out and sending the reply, and how many more for each entry in it.
RESERVE_S = 1.0
RESERVE_PER_ENTRY_S = 0.00002
LOOK_AT_CLOCK_EVERY = 512


class Refused(Exception):
    def __init__(self, error_class, english, italian):
        super().__init__(english)
        self.error_class, self.english, self.italian = error_class, english, italian


def raw(path):
    """The path's bytes, whatever the locale; lone surrogates stand for bytes that are no UTF-8."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise Refused("invalid_args", "The path holds characters that no name can have.", "Il percorso contiene caratteri impossibili in un nome.")


def shown(name):
    return name.decode("utf-8", "replace")


# ---- names ----


def name_tests(patterns):
    """Functions (name, path below the base) -> bool, one for each glob. A glob with a slash looks at the path."""
    tests = []
    for pattern in patterns:
        while pattern.startswith(("./", "**/")):
            pattern = pattern.split("/", 1)[1]
        rest = pattern[2:]
        if pattern in ("*", ""):
            tests.append(lambda name, below: True)
        elif pattern.startswith("*.") and not any(sign in rest for sign in "*?[/"):
            tests.append(extension_test(rest))
        else:
            tests.append(glob_test(pattern))
    return tests


def extension_test(extension):
    ending = "." + extension.lower()
    return lambda name, below: name.lower().endswith(ending)


def glob_test(pattern):
    import fnmatch
    import re

    # Composed and decomposed accents are the same name to a person.
    fold = (lambda text: text) if pattern.isascii() else composed
    loose = pattern.startswith("*.")
    try:
        matches = re.compile(fnmatch.translate(fold(pattern)), re.IGNORECASE if loose else 0).match
    except re.error:
        raise Refused("invalid_args", "«%s» is not a name pattern." % pattern, "«%s» non è uno schema di nomi." % pattern)
    if "/" in pattern:
        return lambda name, below: matches(fold(below)) is not None
    return lambda name, below: matches(fold(name)) is not None


def composed(text):
    import unicodedata

    return unicodedata.normalize("NFC", text)


# ---- moments ----


def moment(text, zone_name, end_of_day):
    """Seconds since 1970 of an ISO 8601 day or moment; a day counts from its first second or up to its last."""
    from datetime import date, datetime, timedelta

    whole_day = len(text.strip()) == 10
    try:
        value = text.strip().replace("Z", "+00:00").replace("z", "+00:00")
        if whole_day:
            day = date.fromisoformat(value)
            if end_of_day:
                day += timedelta(days=1)
            when = datetime(day.year, day.month, day.day)
        else:
            when = datetime.fromisoformat(value)
        if when.tzinfo is None:
            when = when.replace(tzinfo=local_zone(zone_name))
        seconds = when.timestamp()
    except (ValueError, OverflowError):
        raise Refused("invalid_args", "«%s» is not an ISO 8601 date." % text, "«%s» non è una data ISO 8601." % text)
    # The last moment of a day is just before the next one begins.
    return seconds - 1e-6 if whole_day and end_of_day else seconds


def local_zone(name):
    from datetime import timezone

    if not name or name == "UTC":
        return timezone.utc
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return timezone.utc


def iso_utc(seconds):
    """The moment as ISO 8601 in UTC; None where the stored number is no date."""
    try:
        parts = time.gmtime(seconds)
    except (OverflowError, ValueError, OSError):
        return None
    if not 0 < parts[0] < 10000:
        return None
    return "%04d-%02d-%02dT%02d:%02d:%02dZ" % parts[:6]


# ---- the walk ----


class Search:
    """What is asked, and what has been found so far."""

    def __init__(self, args, ctx):
        self.ctx = ctx
        self.base = raw(args["base_path"]).rstrip(b"/") or b"/"
        self.tests = name_tests(args.get("patterns") or [])
        self.empty = args.get("empty")
        since, until = args.get("modified_since"), args.get("modified_until")
        self.since = moment(since, ctx.timezone, False) if since else None
        self.until = moment(until, ctx.timezone, True) if until else None
        self.max_results = args.get("max_results", 100000)
        self.max_depth = 1 if args.get("recursive") is False else args.get("max_depth")
        self.entries, self.bytes = [], 0
        self.count = self.unreadable = self.seen = 0
        self.cut_by = None

    def out_of_time(self):
        return self.ctx.remaining() < RESERVE_S + RESERVE_PER_ENTRY_S * len(self.entries)

    def named(self, path):
        if not self.tests:
            return True
        name, below = shown(os.path.basename(path)), shown(path[len(self.base) :].lstrip(b"/"))
        return any(test(name, below) for test in self.tests)

    def fits(self, status, items):
        if self.empty is not None and (items is None or (items == 0) != self.empty):
            return False
        if self.since is not None and status.st_mtime < self.since:
            return False
        return self.until is None or status.st_mtime <= self.until

    def take(self, path, status, items):
        self.count += 1
        if len(self.entries) >= self.max_results:
            self.cut_by = self.cut_by or "max_results"
            return
        name = os.path.basename(path)
        # A byte can become six characters (\u00e8), and a name stands in the reply twice.
        self.bytes += 130 + 2 * len(path) + (0 if path.isascii() else 5 * (len(path) + len(name)))
        if self.bytes > REPLY_BYTES:
            self.cut_by = self.cut_by or "reply_size"
            return
        found = {"path": shown(path), "name": shown(name), "kind": "dir", "size": 0, "modified": iso_utc(status.st_mtime), "items": items}
        try:
            path.decode("utf-8")
        except UnicodeDecodeError:
            import binascii

            found["path_b64"] = binascii.b2a_base64(path, newline=False).decode("ascii")
        self.entries.append(found)

    def listing(self, folder):
        """(how many entries it holds, the paths of the folders among them); (None, []) where it may not be read."""
        folders, items = [], 0
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    items += 1
                    if not items % LOOK_AT_CLOCK_EVERY and self.out_of_time():
                        self.cut_by = "deadline"
                        break
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.path)
                    except OSError:
                        self.unreadable += 1
        except FileNotFoundError:
            # It vanished meanwhile.
            return None, None
        except OSError:
            self.unreadable += 1
            return None, []
        return items, folders

    def visit(self, path, depth):
        """Judges one folder; gives the folders in it that are to be walked."""
        deeper = self.max_depth is None or depth < self.max_depth
        wanted = self.named(path)
        if not (deeper or wanted):
            return []
        items, folders = self.listing(path)
        if folders is None:
            return []
        if wanted:
            try:
                status = os.lstat(path)
            except OSError:
                self.unreadable += 1
                return []
            if self.fits(status, items):
                self.take(path, status, items)
        return folders if deeper else []

    def walk(self):
        """Without recursion, so that no depth of folders is too deep."""
        _, folders = self.listing(self.base)
        stack = [(path, 1) for path in sorted(folders or [], reverse=True)]
        while stack and self.cut_by != "deadline":
            path, depth = stack.pop()
            self.seen += 1
            if self.seen % LOOK_AT_CLOCK_EVERY == 0:
                if self.out_of_time():
                    self.cut_by = "deadline"
                    return
                if self.seen % (LOOK_AT_CLOCK_EVERY * 8) == 0:
                    self.ctx.progress(self.seen, None, shown(path))
            stack.extend((inner, depth + 1) for inner in sorted(self.visit(path, depth), reverse=True))


def check_base(base, given):
    try:
        status = os.stat(base)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise Refused("not_found", "There is no folder %s." % given, "La cartella %s non esiste." % given)
    except PermissionError:
        raise Refused("permission_denied", "The folder %s may not be read." % given, "La cartella %s non si può leggere." % given)
    except OSError as error:
        raise Refused("not_found", "%s cannot be reached (%s)." % (given, error.strerror), "%s non è raggiungibile (%s)." % (given, error.strerror))
    if not modes.S_ISDIR(status.st_mode):
        raise Refused("wrong_type", "%s is not a folder." % given, "%s non è una cartella." % given)
    try:
        os.scandir(base).close()
    except OSError:
        raise Refused("permission_denied", "The folder %s may not be read." % given, "La cartella %s non si può leggere." % given)


def run(args, ctx):
    try:
        given = args.get("base_path")
        if not isinstance(given, str) or not given:
            raise Refused("invalid_args", "Which folder to look in is missing.", "Manca la cartella in cui cercare.")
        search = Search(args, ctx)
        check_base(search.base, given)
        search.walk()
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
    search.entries.sort(key=lambda entry: entry["path"])
    metadata = {
        "base_path": shown(search.base),
        "count": search.count,
        "shown": len(search.entries),
        "truncated": search.cut_by is not None,
        "unreadable": search.unreadable,
        "links": 0,
        "total_size": 0,
    }
    if search.cut_by:
        metadata["truncated_by"] = search.cut_by
    return {"ok": True, "entries": search.entries, "metadata": metadata}
