"""list_dirs: what lies directly in one folder, in the order that was asked for.

It looks at names and metadata only, never into a file or a folder below, and follows no link.
"""

import os
import stat as modes
import time

# Entries that one reply may hold, in bytes of JSON as the reply writes them.
REPLY_BYTES = 28 * 1024 * 1024
# Seconds kept for sorting and sending the reply, and how many more for each entry in it.
RESERVE_S = 1.0
RESERVE_PER_ENTRY_S = 0.00003
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


def iso_utc(seconds):
    """The moment as ISO 8601 in UTC; None where the stored number is no date."""
    try:
        parts = time.gmtime(seconds)
    except (OverflowError, ValueError, OSError):
        return None
    if not 0 < parts[0] < 10000:
        return None
    return "%04d-%02d-%02dT%02d:%02d:%02dZ" % parts[:6]


def kind_of(mode):
    if modes.S_ISREG(mode):
        return "file"
    if modes.S_ISDIR(mode):
        return "dir"
    return "link" if modes.S_ISLNK(mode) else "other"


class Listing:
    """What is asked, and what has been found so far."""

    def __init__(self, args, ctx):
        self.ctx = ctx
        self.base = raw(args["path"]).rstrip(b"/") or b"/"
        self.kind = args.get("kind") or "any"
        self.sort, self.desc = args.get("sort") or "name", args.get("desc") is True
        self.hidden = args.get("hidden") is not False
        self.max_results = args.get("max_results") or 100000
        # (key, folded name, name, kind, status); only what is returned becomes an entry.
        self.found = []
        self.links = self.total_size = self.unreadable = self.left_out = 0
        self.cut_by = None

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

    def look(self, entry):
        if not self.hidden and entry.name.startswith(b"."):
            self.left_out += 1
            return
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            # It vanished between the listing and this look.
            return
        except OSError:
            self.unreadable += 1
            return
        kind = kind_of(status.st_mode)
        if not self.wants(kind, entry):
            return
        self.links += kind == "link"
        if kind == "file":
            self.total_size += status.st_size
        self.found.append((entry.name, kind, 0 if kind == "dir" else status.st_size, status.st_mtime))

    def walk(self):
        with os.scandir(self.base) as entries:
            for number, entry in enumerate(entries):
                if number % LOOK_AT_CLOCK_EVERY == 0:
                    if self.ctx.remaining() < RESERVE_S + RESERVE_PER_ENTRY_S * len(self.found):
                        self.cut_by = "deadline"
                        return
                    if number and number % (LOOK_AT_CLOCK_EVERY * 16) == 0:
                        self.ctx.progress(number, None, shown(entry.name))
                self.look(entry)

    def ordered(self):
        """By name as a person sorts names: case ignored. Names decide between equals, whichever way the order runs."""
        self.found.sort(key=lambda item: (shown(item[0]).casefold(), item[0]))
        if self.sort == "size":
            self.found.sort(key=lambda item: item[2], reverse=self.desc)
        elif self.sort == "modified":
            self.found.sort(key=lambda item: item[3], reverse=self.desc)
        elif self.desc:
            self.found.reverse()

    def entries(self):
        entries, room = [], REPLY_BYTES
        for name, kind, size, modified in self.found:
            if len(entries) >= self.max_results:
                self.cut_by = self.cut_by or "max_results"
                break
            path = os.path.join(self.base, name)
            # A byte can become six characters (\u00e8), and a name stands in the reply twice.
            room -= 120 + 2 * len(path) + (0 if path.isascii() else 5 * (len(path) + len(name)))
            if room < 0:
                self.cut_by = self.cut_by or "reply_size"
                break
            entry = {"path": shown(path), "name": shown(name), "kind": kind, "size": size, "modified": iso_utc(modified)}
            try:
                path.decode("utf-8")
            except UnicodeDecodeError:
                import binascii

                entry["path_b64"] = binascii.b2a_base64(path, newline=False).decode("ascii")
            entries.append(entry)
        return entries


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
        given = args.get("path")
        if not isinstance(given, str) or not given:
            raise Refused("invalid_args", "Which folder to list is missing.", "Manca la cartella da elencare.")
        listing = Listing(args, ctx)
        check_base(listing.base, given)
        try:
            listing.walk()
        except OSError as error:
            raise Refused("operation_failed", "%s cannot be listed: %s." % (given, error.strerror), "%s non si può elencare: %s." % (given, error.strerror))
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
    listing.ordered()
    entries = listing.entries()
    metadata = {
        "base_path": shown(listing.base),
        "count": len(listing.found),
        "shown": len(entries),
        "truncated": listing.cut_by is not None,
        "unreadable": listing.unreadable,
        "links": listing.links,
        "total_size": listing.total_size,
        "timezone": ctx.timezone or "UTC",
        "hidden": listing.left_out,
    }
    if listing.cut_by:
        metadata["truncated_by"] = listing.cut_by
    return {"ok": True, "entries": entries, "metadata": metadata}
