"""compress_files: packs files and whole folders into one zip or tar.gz; the archive lies in the stage until the core
writes it where it was asked for.

Links are not followed and not packed, and it says so; the originals stay as they are. Where something that was named
is not there it makes no archive: that it is missing would be found out only when the originals are gone.
"""

import os
import stat as modes

ARCHIVE_BYTES_MAX = 60 * 1024 * 1024
FILES_MAX = 100000
SKIPPED_SHOWN = 1000
RESERVE_S = 2.0


class Refused(Exception):
    def __init__(self, error_class, english, italian):
        super().__init__(english)
        self.error_class, self.english, self.italian = error_class, english, italian


def sources(args):
    """What is packed, once each, in the order given; names that are no UTF-8 as the system names them."""
    paths, entries = args.get("paths"), args.get("entries")
    if paths is not None and entries is not None:
        raise Refused("invalid_args", "Either paths or entries, not both.", "O paths o entries, non tutti e due.")
    given = [{"path": path} for path in paths or []] if entries is None else entries
    if entries == []:
        raise Refused("not_found", "Nothing was found that could be packed, so no archive was made.", "Non è stato trovato niente da comprimere, quindi nessun archivio è stato creato.")
    if not isinstance(given, list) or not given:
        raise Refused("missing_input", "There is nothing to pack.", "Non c'è niente da comprimere.")
    found = {}
    for item in given:
        path = item.get("path") if isinstance(item, dict) else None
        if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
            raise Refused("invalid_args", "A path is missing or is no path.", "Un percorso manca o non è un percorso.")
        if item.get("path_b64"):
            import base64

            try:
                path = os.fsdecode(base64.b64decode(item["path_b64"], validate=True))
            except ValueError:
                raise Refused("invalid_args", "path_b64 is no base64.", "path_b64 non è base64.")
        found[path.rstrip("/") or "/"] = None
    # What lies in another of them is packed with it.
    kept, last = [], None
    for path in sorted(found, key=lambda path: path + "/"):
        if last is None or not (path + "/").startswith(last):
            kept.append(path)
            last = path + "/"
    return kept


def all_there(paths):
    """Refuses an archive that would lack what was named; what a search found may be gone meanwhile, and is told."""
    missing = [os.fsencode(path).decode("utf-8", "replace") for path in paths if not os.path.lexists(path)]
    if missing:
        named = ", ".join(missing[:10]) + (", …" if len(missing) > 10 else "")
        raise Refused(
            "missing_input",
            "%s %s not there, and an archive should not lack what you named, so none was made" % (named, "is" if len(missing) == 1 else "are"),
            "%s non %s, e a un archivio non deve mancare ciò che hai indicato: non è stato creato" % (named, "c'è" if len(missing) == 1 else "ci sono"),
        )


def format_of(args, dst):
    wanted, name = args.get("format"), dst.lower()
    told = "zip" if name.endswith(".zip") else "tar.gz" if name.endswith((".tar.gz", ".tgz")) else None
    if wanted is not None and wanted not in ("zip", "tar.gz"):
        raise Refused("invalid_args", "format is zip or tar.gz.", "format è zip o tar.gz.")
    if told is None and wanted is None:
        raise Refused("invalid_args", "The name of the archive ends in .zip or .tar.gz.", "Il nome dell'archivio finisce in .zip o .tar.gz.")
    if told is not None and wanted is not None and told != wanted:
        raise Refused("invalid_args", "The name of the archive does not fit %s." % wanted, "Il nome dell'archivio non corrisponde a %s." % wanted)
    return wanted or told


class Listing:
    """What goes into the archive: folders and files with the names that they get there, and what is left out."""

    def __init__(self, ctx, dst):
        self.ctx, self.dst = ctx, dst
        self.found, self.skipped, self.left_out = [], [], 0
        self.files = self.folders = self.bytes = 0

    def skip(self, path, error_class, english, italian):
        self.left_out += 1
        if len(self.skipped) < SKIPPED_SHOWN:
            text = os.fsencode(path).decode("utf-8", "replace")
            self.skipped.append({"path": text, "error_class": error_class, "error": italian if self.ctx.language == "it" else english})

    def add(self, path, base):
        """One file, or a folder with all below it, without recursion."""
        open_paths = [path]
        while open_paths:
            at = open_paths.pop()
            try:
                status = os.lstat(at)
            except OSError as error:
                self.skip(at, "not_found", error.strerror, "non c'è" if isinstance(error, FileNotFoundError) else error.strerror)
                continue
            if modes.S_ISDIR(status.st_mode):
                try:
                    open_paths.extend(sorted((os.path.join(at, name) for name in os.listdir(at)), reverse=True))
                except OSError as error:
                    self.skip(at, "permission_denied", error.strerror, "non si può leggere")
                    continue
                self.folders += 1
                self.found.append((at, base, status))
            elif not modes.S_ISREG(status.st_mode):
                self.skip(at, "wrong_type", "a link" if modes.S_ISLNK(status.st_mode) else "no plain file", "un collegamento" if modes.S_ISLNK(status.st_mode) else "non è un file normale")
            elif at == self.dst:
                self.skip(at, "wrong_type", "the archive itself", "l'archivio stesso")
            else:
                self.files += 1
                self.bytes += status.st_size
                self.found.append((at, base, status))
            if self.files + self.folders > FILES_MAX:
                raise Refused("too_large", "At most %d files and folders are packed at once." % FILES_MAX, "Si comprimono al massimo %d file e cartelle alla volta." % FILES_MAX)


def check(archive, ctx):
    if os.path.getsize(archive) > ARCHIVE_BYTES_MAX:
        raise Refused("too_large", "The archive would be larger than 60 MB; pack less at once.", "L'archivio supererebbe i 60 MB; comprimi meno cose alla volta.")
    if ctx.remaining() < RESERVE_S:
        raise Refused("too_large", "There was not enough time to pack all of it; pack less at once.", "Non c'è stato abbastanza tempo per comprimere tutto; comprimi meno cose alla volta.")


def packed(listing, archive, kind, ctx):
    """Writes the archive; how many files really went in, and their bytes."""
    import tarfile
    import zipfile

    files, total, last = 0, 0, 0
    with zipfile.ZipFile(archive, "x", zipfile.ZIP_DEFLATED, strict_timestamps=False) if kind == "zip" else tarfile.open(archive, "x:gz") as out:
        for path, base, status in listing.found:
            name = os.path.relpath(path, base)
            is_folder = modes.S_ISDIR(status.st_mode)
            try:
                if not is_folder:
                    with open(path, "rb"):
                        pass
            except OSError as error:
                listing.skip(path, "permission_denied", error.strerror, "non si può leggere")
                listing.files -= 1
                listing.bytes -= status.st_size
                continue
            if kind == "zip":
                out.write(path, os.fsencode(name).decode("utf-8", "replace"))
            else:
                out.add(path, name, recursive=False)
            if not is_folder:
                files += 1
                total += status.st_size
            if total - last > 4 * 1024 * 1024:
                last = total
                check(archive, ctx)
                ctx.progress(total, listing.bytes)
    check(archive, ctx)
    return files, total


def in_local_time(ctx):
    """A zip archive holds times without a zone: what the clock on the wall said."""
    if getattr(ctx, "timezone", None):
        import time

        os.environ["TZ"] = ctx.timezone
        time.tzset()


def run(args, ctx):
    try:
        dst = args.get("dst")
        if not isinstance(dst, str) or not dst.startswith("/"):
            raise Refused("missing_input", "Where to write the archive is missing.", "Manca dove scrivere l'archivio.")
        if_exists = args.get("if_exists") or "fail"
        if if_exists not in ("fail", "replace"):
            raise Refused("invalid_args", "if_exists is fail or replace.", "if_exists è fail o replace.")
        kind = format_of(args, dst)
        paths = sources(args)
        base = os.path.commonpath([os.path.dirname(path) for path in paths])
        if args.get("paths") is not None:
            all_there(paths)
        listing = Listing(ctx, dst)
        for path in paths:
            listing.add(path, base)
        if not listing.files and not listing.folders:
            reason = listing.skipped[0]["error"] if listing.skipped else ""
            raise Refused("not_found", "Nothing of it can be packed: %s." % reason, "Non se ne può comprimere niente: %s." % reason)
        in_local_time(ctx)
        archive = ctx.stage + "/archive"
        try:
            files, total = packed(listing, archive, kind, ctx)
        except OSError as error:
            import errno

            if error.errno in (errno.EFBIG, errno.ENOSPC, errno.EDQUOT):
                raise Refused("too_large", "The archive would be larger than 60 MB; pack less at once.", "L'archivio supererebbe i 60 MB; comprimi meno cose alla volta.")
            raise Refused("operation_failed", "Packing failed: %s." % error.strerror, "La compressione non è riuscita: %s." % error.strerror)
        if not files and not listing.folders:
            raise Refused("permission_denied", "None of it can be read.", "Non se ne può leggere niente.")
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
    return {
        "ok": True,
        "effects": [{"op": "write", "path": dst, "from": "archive", "if_exists": if_exists}],
        "metadata": {
            "dst": dst,
            "format": kind,
            "files": files,
            "folders": listing.folders,
            "bytes_in": total,
            "bytes_out": os.path.getsize(archive),
            "left_out": listing.left_out,
            "skipped": listing.skipped,
        },
    }
