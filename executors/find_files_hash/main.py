"""find_files_hash: files that are equal byte for byte, by their full SHA-256 digest.

Only files of one size are read, first their beginnings, and whole only where those are equal. Several names of one file
(hard links) are one file. It follows no link, opens nothing but regular files, deletes nothing.
"""

import os
import stat as modes
import time

# Entries that one reply may hold, in bytes of JSON as the reply writes them.
REPLY_BYTES = 28 * 1024 * 1024
RESERVE_S = 2.0
LOOK_AT_CLOCK_EVERY = 512
# Files up to this length are read once; of longer ones, first this much.
HEAD_BYTES = 16384
BLOCK_BYTES = 1 << 20
# Days since 1970 as they are written, as far as they were met.
DAYS = {}
TWO = ["%02d" % number for number in range(60)]


class Refused(Exception):
    def __init__(self, error_class, english, italian):
        super().__init__(english)
        self.error_class, self.english, self.italian = error_class, english, italian

    def message(self, ctx):
        return self.italian if ctx.language == "it" else self.english


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


class Known:
    """One file: its names (paths), size, time and what identifies it."""

    __slots__ = ("paths", "size", "modified", "changed_ns")

    def __init__(self, path, status):
        self.paths, self.size, self.modified, self.changed_ns = [path], status.st_size, status.st_mtime, status.st_mtime_ns


class Search:
    """What is asked, and what has been found so far."""

    def __init__(self, args, ctx):
        self.ctx = ctx
        self.tests = name_tests(args.get("patterns") or [])
        size = args.get("min_size")
        self.min_size = 1 if size is None else size
        self.recursive = args.get("recursive") is not False
        self.files, self.base = {}, b""
        self.looked_at = self.hard_links = self.links = self.unreadable = self.changed = self.hashed = self.seen = 0
        self.cut_by = None
        self.block = bytearray(BLOCK_BYTES)

    def late(self):
        if self.ctx.remaining() < RESERVE_S + 0.00002 * len(self.files):
            self.cut_by = "deadline"
        return self.cut_by == "deadline"

    def named(self, path):
        if not self.tests:
            return True
        name, below = shown(os.path.basename(path)), shown(path[len(self.base) :].lstrip(b"/"))
        return any(test(name, below) for test in self.tests)

    def note(self, path, status):
        """Remembers one file, or one more name of a file."""
        if status.st_size < self.min_size:
            return
        identity = (status.st_dev, status.st_ino)
        known = self.files.get(identity)
        if known is None:
            self.files[identity] = Known(path, status)
            self.looked_at += 1
        elif path not in known.paths:
            known.paths.append(path)
            self.hard_links += 1

    def walk(self, base):
        """Without recursion, so that no depth of folders is too deep."""
        self.base = base
        stack = [base]
        while stack:
            try:
                with os.scandir(stack.pop()) as entries:
                    for entry in entries:
                        self.seen += 1
                        if self.seen % LOOK_AT_CLOCK_EVERY == 0:
                            if self.late():
                                return
                            if self.seen % (LOOK_AT_CLOCK_EVERY * 16) == 0:
                                self.ctx.progress(self.seen, None, shown(entry.path))
                        self.visit(entry, stack)
            except FileNotFoundError:
                # It vanished meanwhile.
                continue
            except OSError:
                self.unreadable += 1

    def visit(self, entry, stack):
        try:
            if entry.is_symlink():
                self.links += 1
            elif entry.is_dir(follow_symlinks=False):
                if self.recursive:
                    stack.append(entry.path)
            elif entry.is_file(follow_symlinks=False) and self.named(entry.path):
                self.note(entry.path, entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            pass
        except OSError:
            self.unreadable += 1

    # ---- comparing ----

    def digest(self, known, whole):
        """The SHA-256 of the file's beginning or of all of it; None where it cannot be read or is no longer the same."""
        import hashlib

        try:
            descriptor = os.open(known.paths[0], os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
        except FileNotFoundError:
            self.changed += 1
            return None
        except OSError:
            self.unreadable += 1
            return None
        try:
            wanted = known.size if whole else min(known.size, HEAD_BYTES)
            if wanted <= HEAD_BYTES:
                # Most files end here: one read, one look at what was read.
                head = os.read(descriptor, wanted)
                digest, at = hashlib.sha256(head), len(head)
            else:
                digest, at = self.whole(descriptor, wanted)
                if self.cut_by == "deadline":
                    return None
            self.hashed += at
            status = os.fstat(descriptor)
            if at != wanted or status.st_size != known.size or status.st_mtime_ns != known.changed_ns or not modes.S_ISREG(status.st_mode):
                self.changed += 1
                return None
            return digest.digest()
        except OSError:
            self.unreadable += 1
            return None
        finally:
            os.close(descriptor)

    def whole(self, descriptor, wanted):
        """The digest of up to so many bytes, in blocks, and how many there were."""
        import hashlib

        digest, at, view = hashlib.sha256(), 0, memoryview(self.block)
        while at < wanted and not self.late():
            count = os.preadv(descriptor, [view[: min(wanted - at, BLOCK_BYTES)]], at)
            if not count:
                break
            digest.update(view[:count])
            at += count
        return digest, at

    def split(self, files, whole):
        """Groups of at least two files whose digests are equal."""
        groups = {}
        for number, known in enumerate(files):
            if number % 64 == 63 and self.late() or self.cut_by == "deadline":
                break
            digest = self.digest(known, whole)
            if digest is not None:
                groups.setdefault(digest, []).append(known)
        return [(digest, group) for digest, group in groups.items() if len(group) > 1]

    def equal(self):
        """(digest, files) of all groups. The largest files come first: they are what is worth finding."""
        by_size = {}
        for known in self.files.values():
            by_size.setdefault(known.size, []).append(known)
        candidates = sorted(((size, files) for size, files in by_size.items() if len(files) > 1), key=lambda item: -item[0])
        total, done, found, told = sum(len(files) for _, files in candidates), 0, [], 0
        for size, files in candidates:
            if self.late():
                break
            for digest, group in self.split(files, False):
                # A short file's beginning is all of it.
                found.extend([(digest, group)] if size <= HEAD_BYTES else self.split(group, True))
            done += len(files)
            if done - told > 256:
                told = done
                self.ctx.progress(done, total, shown(files[0].paths[0]))
        return found


# ---- the reply ----


def entry_of(known, digest, number, first):
    path = known.paths[0]
    entry = {
        "path": shown(path),
        "name": shown(os.path.basename(path)),
        "kind": "file",
        "size": known.size,
        "modified": iso_utc(known.modified),
        "sha256": digest.hex(),
        "group": number,
        "first": first,
    }
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        import binascii

        entry["path_b64"] = binascii.b2a_base64(path, newline=False).decode("ascii")
    if len(known.paths) > 1:
        entry["same_file"] = [shown(other) for other in known.paths[1:]]
    return entry


def reply(search, bases, groups):
    for _, files in groups:
        for known in files:
            known.paths.sort(key=lambda path: (len(path), path))
        # The copy to keep: the oldest, then the one with the shortest path; the others by path.
        first = min(files, key=lambda known: (known.modified, len(known.paths[0]), known.paths[0]))
        files.sort(key=lambda known: (known is not first, known.paths[0]))
    groups.sort(key=lambda group: (-group[1][0].size * (len(group[1]) - 1), group[1][0].paths[0]))
    entries, room, count, wasted = [], REPLY_BYTES, 0, 0
    for number, (digest, files) in enumerate(groups, 1):
        count += len(files)
        wasted += files[0].size * (len(files) - 1)
        cost = sum(260 + sum((2 if path.isascii() else 7) * len(path) for path in known.paths) for known in files)
        room -= cost
        if room < 0:
            search.cut_by = search.cut_by or "reply_size"
            continue
        entries.extend(entry_of(known, digest, number, at == 0) for at, known in enumerate(files))
    metadata = {
        "base_path": ", ".join(shown(base) for base in bases),
        "groups": len(groups),
        "count": count,
        "shown": len(entries),
        "copies": count - len(groups),
        "wasted_bytes": wasted,
        "looked_at": search.looked_at,
        "hashed_bytes": search.hashed,
        "hard_links": search.hard_links,
        "links": search.links,
        "unreadable": search.unreadable,
        "changed": search.changed,
        "truncated": search.cut_by is not None,
    }
    if search.cut_by:
        metadata["truncated_by"] = search.cut_by
    return {"ok": True, "entries": entries, "metadata": metadata}


def given_bases(args):
    given = args.get("base_path")
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, list) or not given or not all(isinstance(path, str) and path for path in given):
        raise Refused("missing_input", "Which folder to look in is missing.", "Manca la cartella in cui cercare.")
    return list(dict.fromkeys(raw(path).rstrip(b"/") or b"/" for path in given))


def look(search, base):
    given = shown(base)
    try:
        status = os.lstat(base)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise Refused("not_found", "There is no file or folder %s." % given, "Non esiste un file o una cartella %s." % given)
    except OSError as error:
        raise Refused("permission_denied", "%s cannot be reached (%s)." % (given, error.strerror), "%s non è raggiungibile (%s)." % (given, error.strerror))
    if modes.S_ISREG(status.st_mode):
        search.note(base, status)
        return
    if not modes.S_ISDIR(status.st_mode):
        raise Refused("wrong_type", "%s is neither a folder nor a file." % given, "%s non è né una cartella né un file." % given)
    try:
        os.scandir(base).close()
    except OSError:
        raise Refused("permission_denied", "The folder %s may not be read." % given, "La cartella %s non si può leggere." % given)
    search.walk(base)


def look_at_all(search, bases):
    """(what could be looked at, why the others could not); refused only where none could."""
    looked, errors = [], []
    for base in bases:
        try:
            look(search, base)
            looked.append(base)
        except Refused as refused:
            if len(bases) == 1 or (base == bases[-1] and not looked):
                raise
            errors.append({"path": shown(base), "error_class": refused.error_class, "error": refused.message(search.ctx)})
    return looked, errors


def run(args, ctx):
    try:
        bases = given_bases(args)
        search = Search(args, ctx)
        looked, errors = look_at_all(search, bases)
        result = reply(search, looked, search.equal())
        result["metadata"]["failed"] = len(errors)
        if errors:
            result["errors"] = errors
        return result
    except Refused as refused:
        return {"ok": False, "error_class": refused.error_class, "error": refused.message(ctx)}
