"""find_files: the entries of a folder tree by name, kind, size and date.

It looks at names and metadata only, never into a file, and follows no link.
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
        self.kind = args.get("kind") or "file"
        self.tests = name_tests(args.get("patterns") or [])
        self.min_size, self.max_size = args.get("min_size"), args.get("max_size")
        since, until = args.get("modified_since"), args.get("modified_until")
        self.since = moment(since, ctx.timezone, False) if since else None
        self.until = moment(until, ctx.timezone, True) if until else None
        self.max_results = args.get("max_results", 100000)
        self.max_depth = 1 if args.get("recursive") is False else args.get("max_depth")
        self.entries, self.bytes = [], 0
        self.count = self.links = self.total_size = self.unreadable = self.seen = 0
        self.cut_by = None

    def out_of_time(self):
        return self.ctx.remaining() < RESERVE_S + RESERVE_PER_ENTRY_S * len(self.entries)

    def kind_of(self, status):
        mode = status.st_mode
        if modes.S_ISREG(mode):
            return "file"
        if modes.S_ISDIR(mode):
            return "dir"
        return "link" if modes.S_ISLNK(mode) else "other"

    def wants(self, kind, entry):
        """A link counts as what it visibly leads to: a folder, else a file."""
        if self.kind == "any" or kind == self.kind:
            return True
        if kind != "link":
            return False
        try:
            leads_to_folder = entry.is_dir()
        except OSError:
            leads_to_folder = False
        return leads_to_folder == (self.kind == "dir")

    def fits(self, kind, status):
        if self.min_size is not None or self.max_size is not None:
            if kind == "dir":
                return False
            if self.min_size is not None and status.st_size < self.min_size:
                return False
            if self.max_size is not None and status.st_size > self.max_size:
                return False
        if self.since is not None and status.st_mtime < self.since:
            return False
        return self.until is None or status.st_mtime <= self.until

    def take(self, path, name, kind, status):
        self.count += 1
        self.links += kind == "link"
        size = 0 if kind == "dir" else status.st_size
        if kind == "file":
            self.total_size += size
        if len(self.entries) >= self.max_results:
            self.cut_by = self.cut_by or "max_results"
            return
        # A byte can become six characters (\u00e8), and a name stands in the reply twice.
        self.bytes += 120 + 2 * len(path) + (0 if path.isascii() else 5 * (len(path) + len(name)))
        if self.bytes > REPLY_BYTES:
            self.cut_by = self.cut_by or "reply_size"
            return
        found = {"path": shown(path), "name": shown(name), "kind": kind, "size": size, "modified": iso_utc(status.st_mtime)}
        try:
            path.decode("utf-8")
        except UnicodeDecodeError:
            import binascii

            found["path_b64"] = binascii.b2a_base64(path, newline=False).decode("ascii")
        self.entries.append(found)

    def visit(self, entry, depth, folders):
        """Judges one directory entry; a folder that is to be walked is noted. Names first: they cost no system call."""
        try:
            inner = entry.is_dir(follow_symlinks=False)
            if self.named(entry):
                status = entry.stat(follow_symlinks=False)
                kind = self.kind_of(status)
                if self.wants(kind, entry) and self.fits(kind, status):
                    self.take(entry.path, entry.name, kind, status)
        except FileNotFoundError:
            # It vanished between the listing and this look.
            return
        except OSError:
            self.unreadable += 1
            return
        if inner and (self.max_depth is None or depth < self.max_depth):
            folders.append(entry)

    def named(self, entry):
        if not self.tests:
            return True
        name, below = shown(entry.name), shown(entry.path[len(self.base) :].lstrip(b"/"))
        return any(test(name, below) for test in self.tests)

    def listing(self, folder):
        """The folder's entries in the order of their full paths: a folder sorts as its name with a slash."""
        try:
            with os.scandir(folder) as found:
                entries = list(found)
        except OSError:
            self.unreadable += 1
            return []
        marked = []
        for entry in entries:
            try:
                inner = entry.is_dir(follow_symlinks=False)
            except OSError:
                inner = False
            marked.append((entry.name + b"/" if inner else entry.name, entry))
        marked.sort(key=lambda pair: pair[0])
        return [entry for _, entry in marked]

    def walk(self):
        """Depth first without recursion, so that no depth of folders is too deep."""
        stack = [(iter(self.listing(self.base)), 1)]
        while stack:
            entries, depth = stack[-1]
            entry = next(entries, None)
            if entry is None:
                stack.pop()
                continue
            self.seen += 1
            if self.seen % LOOK_AT_CLOCK_EVERY == 0:
                if self.out_of_time():
                    self.cut_by = "deadline"
                    return
                if self.seen % (LOOK_AT_CLOCK_EVERY * 16) == 0:
                    self.ctx.progress(self.seen, None, shown(entry.path))
            folders = []
            self.visit(entry, depth, folders)
            for folder in folders:
                stack.append((iter(self.listing(folder.path)), depth + 1))


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
    if search.kind != "file":
        # The walk meets a folder where its contents sort, which is not quite where its own path does.
        search.entries.sort(key=lambda entry: entry["path"])
    metadata = {
        "base_path": shown(search.base),
        "count": search.count,
        "shown": len(search.entries),
        "truncated": search.cut_by is not None,
        "unreadable": search.unreadable,
        "links": search.links,
        "total_size": search.total_size,
    }
    if search.cut_by:
        metadata["truncated_by"] = search.cut_by
    return {"ok": True, "entries": search.entries, "metadata": metadata}
