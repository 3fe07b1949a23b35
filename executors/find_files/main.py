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
# Days since 1970 as they are written, as far as they were met.
DAYS = {}
TWO = ["%02d" % number for number in range(60)]


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
        day, rest = divmod(int(seconds // 1), 86400)
        date = DAYS.get(day)
        if date is None:
            parts = time.gmtime(day * 86400)
            date = DAYS[day] = "%04d-%02d-%02dT" % parts[:3] if 0 < parts[0] < 10000 else ""
    except (OverflowError, ValueError, OSError):
        return None
    return date + TWO[rest // 3600] + ":" + TWO[rest // 60 % 60] + ":" + TWO[rest % 60] + "Z" if date else None


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

    def kind_of(self, status):
        mode = status.st_mode
        if modes.S_ISREG(mode):
            return "file"
        if modes.S_ISDIR(mode):
            return "dir"
        return "link" if modes.S_ISLNK(mode) else "other"

    def wants(self, kind, folder, name):
        """A link counts as what it visibly leads to: a folder, else a file."""
        if self.kind == "any":
            return True
        if kind != "link":
            return False
        try:
            leads_to_folder = modes.S_ISDIR(os.stat(name, dir_fd=folder).st_mode)
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

    def take(self, path, name, kind, size, modified):
        self.count += 1
        if kind == "link":
            self.links += 1
        elif kind == "file":
            self.total_size += size
        if len(self.entries) >= self.max_results:
            self.cut_by = self.cut_by or "max_results"
            return
        plain = path.isascii()
        if not plain:
            path, name = os.fsencode(path), os.fsencode(name)
        # A byte can become six characters (\u00e8), and a name stands in the reply twice.
        self.bytes += 120 + 2 * len(path) + (0 if plain else 5 * (len(path) + len(name)))
        if self.bytes > REPLY_BYTES:
            self.cut_by = self.cut_by or "reply_size"
            return
        if plain:
            self.entries.append({"path": path, "name": name, "kind": kind, "size": size, "modified": iso_utc(modified)})
            return
        found = {"path": shown(path), "name": shown(name), "kind": kind, "size": size, "modified": iso_utc(modified)}
        try:
            path.decode("utf-8")
        except UnicodeDecodeError:
            import binascii

            found["path_b64"] = binascii.b2a_base64(path, newline=False).decode("ascii")
        self.entries.append(found)

    def judged(self, entry, folder, below):
        """(kind, size, moment) of a directory entry that is wanted, else None. Names first: they cost no system call."""
        if self.tests and not self.named(entry.name, below):
            return None
        try:
            status = entry.stat(follow_symlinks=False)
            kind = self.kind_of(status)
            if (kind == self.kind or self.wants(kind, folder, entry.name)) and self.fits(kind, status):
                return kind, 0 if kind == "dir" else status.st_size, status.st_mtime
        except FileNotFoundError:
            # It vanished between the listing and this look.
            pass
        except OSError:
            self.unreadable += 1
        return None

    def named(self, name, below):
        name, below = shown(os.fsencode(name)), shown(os.fsencode(below + name))
        return any(test(name, below) for test in self.tests)

    def listing(self, folder, below, depth):
        """What is wanted in a folder, and its folders, in the order of their full paths: a folder sorts as its name with
        a slash. All are looked at while the folder is open, so that the system need not walk a path for each."""
        found = []
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (os.O_NOFOLLOW if depth > 1 else 0))
        except OSError:
            self.unreadable += 1
            return found
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    self.seen += 1
                    if self.seen % LOOK_AT_CLOCK_EVERY == 0 and self.told(folder, entry.name, len(found)):
                        break
                    name = entry.name
                    try:
                        inner = entry.is_dir(follow_symlinks=False)
                    except OSError:
                        inner = False
                    wanted = self.judged(entry, descriptor, below)
                    if wanted or inner:
                        found.append((os.fsencode(name + "/" if inner else name), name, inner, wanted))
        except OSError:
            self.unreadable += 1
        finally:
            os.close(descriptor)
        found.sort()
        return found

    def told(self, folder, name, waiting):
        """Says how far it is; whether the time is up."""
        if self.ctx.remaining() < RESERVE_S + RESERVE_PER_ENTRY_S * (len(self.entries) + waiting):
            self.cut_by = "deadline"
        elif self.seen % (LOOK_AT_CLOCK_EVERY * 16) == 0:
            self.ctx.progress(self.seen, None, shown(os.fsencode(folder + "/" + name)))
        return self.cut_by == "deadline"

    def walk(self):
        """Depth first without recursion, so that no depth of folders is too deep."""
        base = os.fsdecode(self.base)
        stack = [(base.rstrip("/"), "", iter(self.listing(base, "", 1)))]
        while stack:
            folder, below, entries = stack[-1]
            for _, name, inner, wanted in entries:
                path = folder + "/" + name
                if wanted:
                    self.take(path, name, *wanted)
                if inner and (self.max_depth is None or len(stack) < self.max_depth) and self.cut_by != "deadline":
                    stack.append((path, below + name + "/", iter(self.listing(path, below + name + "/", len(stack) + 1))))
                    break
            else:
                stack.pop()


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
        "timezone": ctx.timezone or "UTC",
    }
    if search.cut_by:
        metadata["truncated_by"] = search.cut_by
    return {"ok": True, "entries": search.entries, "metadata": metadata}
