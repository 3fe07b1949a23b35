"""read_files_pdf: the text of PDF documents, by the program pdftotext.

It reads what is text in a document; it recognises no letters in pictures and opens nothing that needs a password. The
program runs in the same cage, sees only the files that were named, and has no network.
"""

import os
import stat as modes

REPLY_BYTES = 6 * 1024 * 1024 - 256 * 1024
# More text than that is not even read from the program.
TEXT_BYTES_MAX = 8 * 1024 * 1024
HEAD_BYTES = 1024
RESERVE_S = 1.5
PROGRAM = "pdftotext"


class Refused(Exception):
    def __init__(self, error_class, english, italian):
        super().__init__(english)
        self.error_class, self.english, self.italian = error_class, english, italian

    def message(self, ctx):
        return self.italian if ctx.language == "it" else self.english


def shown(path):
    return path.decode("utf-8", "replace")


# ---- which files ----


def targets(args):
    """The paths as bytes, in the order given, each once."""
    wanted = []
    for path in args.get("paths") or []:
        wanted.append(path_bytes(path))
    for entry in args.get("entries") or []:
        if not isinstance(entry, dict):
            raise Refused("invalid_args", "An entry is no object with a path.", "Un elemento non è un oggetto con un percorso.")
        if isinstance(entry.get("path_b64"), str):
            import binascii

            try:
                wanted.append(binascii.a2b_base64(entry["path_b64"].encode("ascii")))
            except (ValueError, UnicodeEncodeError):
                raise Refused("invalid_args", "path_b64 is no base64.", "path_b64 non è base64.")
        else:
            wanted.append(path_bytes(entry.get("path")))
    return list(dict.fromkeys(wanted))


def path_bytes(path):
    if not isinstance(path, str) or not path or "\0" in path:
        raise Refused("invalid_args", "A path is missing or is no path.", "Un percorso manca o non è un percorso.")
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise Refused("invalid_args", "A path holds characters that no name can have.", "Un percorso contiene caratteri impossibili in un nome.")


def why_not(path, error):
    """The refusal for an OSError while reaching or reading a file."""
    import errno

    name = shown(path)
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
        return Refused("not_found", "There is no file %s." % name, "Il file %s non esiste." % name)
    if error.errno == errno.ELOOP:
        return Refused("not_found", "The links at %s lead in a circle." % name, "I collegamenti in %s girano in tondo." % name)
    if error.errno in (errno.EACCES, errno.EPERM):
        return Refused("permission_denied", "The file %s may not be read." % name, "Il file %s non si può leggere." % name)
    return Refused("operation_failed", "%s cannot be read: %s." % (name, error.strerror), "%s non si può leggere: %s." % (name, error.strerror))


def checked(path):
    """The size of a document. The look comes first: opening a pipe or a device could wait or do something."""
    name = shown(path)
    try:
        mode = os.stat(path).st_mode
        if modes.S_ISDIR(mode):
            raise Refused("wrong_type", "%s is a folder, not a file." % name, "%s è una cartella, non un file." % name)
        if not modes.S_ISREG(mode):
            raise Refused("wrong_type", "%s is no ordinary file." % name, "%s non è un file ordinario." % name)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            head, size = os.pread(descriptor, HEAD_BYTES, 0), os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
    except OSError as error:
        raise why_not(path, error)
    if not head:
        raise Refused("unparseable", "The file %s is empty." % name, "Il file %s è vuoto." % name)
    if b"%PDF-" not in head:
        raise Refused("unparseable", "%s is no PDF document." % name, "%s non è un documento PDF." % name)
    return size


# ---- the program ----


def extracted(path, options, ctx):
    """(bytes of the text, whether there was more)."""
    import subprocess

    name = shown(path)
    # It is quiet (-q) but where its words are needed.
    argv = [PROGRAM, "-q", "-enc", "UTF-8", "-eol", "unix", *options, path, "-"]
    try:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/")
    except FileNotFoundError:
        raise Refused(
            "binary_missing",
            "PDF documents need the program pdftotext, which is not installed: apt install poppler-utils",
            "Per i documenti PDF serve il programma pdftotext, che non è installato: apt install poppler-utils",
        )
    except OSError as error:
        raise Refused("operation_failed", "pdftotext cannot be started here: %s." % error.strerror, "pdftotext non si può avviare qui: %s." % error.strerror)
    text, errors, cut, late = drained(process, ctx)
    code = process.wait()
    if late:
        raise Refused("timeout", "%s takes too long; ask for fewer pages." % name, "%s richiede troppo tempo; chiedi meno pagine." % name)
    said = " ".join(errors.decode("utf-8", "replace").split())[:300]
    if code == 0 or cut:
        return text, cut
    if "password" in said.lower() or "encrypted" in said.lower():
        raise Refused("auth_required", "%s is locked with a password." % name, "%s è protetto da una password." % name)
    if code < 0 or "memory" in said.lower():
        raise Refused("too_large", "%s is too large or too damaged to be read." % name, "%s è troppo grande o troppo rovinato per essere letto." % name)
    if code == 99 or "page" in said.lower() and "range" in said.lower():
        # «… the first page (7) can not be after the last page (2).»
        try:
            loud = subprocess.run([argv[0], *argv[2:]], stdin=subprocess.DEVNULL, capture_output=True, cwd="/", timeout=max(1, ctx.remaining() - RESERVE_S)).stderr
        except (OSError, subprocess.TimeoutExpired):
            loud = b""
        last = loud.decode("utf-8", "replace").rpartition("the last page (")[2].partition(")")[0]
        if last.isdigit():
            pages = ("1 page", "1 pagina") if last == "1" else (last + " pages", last + " pagine")
            raise Refused("invalid_args", "%s has only %s." % (name, pages[0]), "%s ha solo %s." % (name, pages[1]))
        raise Refused("invalid_args", "%s does not have these pages." % name, "%s non ha queste pagine." % name)
    raise Refused("unparseable", "%s cannot be read as PDF: %s" % (name, said or "damaged"), "%s non si può leggere come PDF: %s" % (name, said or "rovinato"))


def drained(process, ctx):
    """Reads both streams to their end, or until it is too much or too late; then the program is killed."""
    import selectors

    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    cut = late = False
    with selectors.DefaultSelector() as waiting:
        for stream in kept:
            waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map() and not (cut or late):
            for key, _ in waiting.select(0.2):
                data = os.read(key.fd, 1 << 16)
                if not data:
                    waiting.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    kept[process.stdout] += data
                    cut = len(kept[process.stdout]) > TEXT_BYTES_MAX
                elif len(kept[process.stderr]) < 65536:
                    kept[process.stderr] += data
            late = ctx.remaining() < RESERVE_S
    if cut or late:
        process.kill()
    return bytes(kept[process.stdout]), bytes(kept[process.stderr]), cut, late


# ---- replies ----


class Reading:
    """Reads one document after another as the arguments say."""

    def __init__(self, args, ctx):
        self.ctx = ctx
        self.first, self.last = args.get("first_page"), args.get("last_page")
        if self.first and self.last and self.last < self.first:
            raise Refused("invalid_args", "The last page comes before the first.", "L'ultima pagina viene prima della prima.")
        self.options = ["-layout"] if args.get("layout") else []
        if self.first:
            self.options += ["-f", str(self.first)]
        if self.last:
            self.options += ["-l", str(self.last)]

    def read(self, path, budget):
        size = checked(path)
        raw, cut = extracted(path, self.options, self.ctx)
        text = raw.decode("utf-8", "replace").replace("\0", "")
        pages = text.split("\f")
        if not pages[-1].strip() and not cut:
            pages.pop()
        # A page more than what was asked for is not there: how many there are is known only when all were read.
        total = len(pages) if not (self.first and self.first > 1) and not self.last and not cut else None
        text, shortened = fit("\f".join(pages), budget)
        return {
            "path": shown(path),
            "pages": total,
            "first_page": self.first or 1,
            "last_page": (self.first or 1) + len(pages) - 1 if pages else None,
            "lines": text.count("\n") + (1 if text and not text.endswith("\n") else 0),
            "size": size,
            "truncated": cut or shortened,
            "empty_pages": sum(1 for page in pages if not page.strip()),
        }, text


def fit(text, budget):
    """(text, whether it had to be cut) so that it takes at most `budget` bytes of JSON, however it is escaped."""
    if len(text) * 12 <= budget:
        return text, False
    import json

    if len(json.dumps(text)) <= budget:
        return text, False
    low, high = 0, len(text)
    while high - low > 1024:
        middle = (low + high) // 2
        if len(json.dumps(text[:middle])) <= budget:
            low = middle
        else:
            high = middle
    return text[:low], True


def read_many(reading, paths, ctx):
    import json

    entries, errors, room, left_out = [], [], REPLY_BYTES, 0
    for number, path in enumerate(paths):
        if room < 16384 or ctx.remaining() < RESERVE_S + 1:
            left_out = len(paths) - number
            break
        ctx.progress(number, len(paths), shown(path))
        room -= 2048 + 12 * len(path)
        try:
            metadata, text = reading.read(path, max(room, 0))
        except Refused as refused:
            if refused.error_class == "binary_missing":
                raise
            errors.append({"path": shown(path), "error_class": refused.error_class, "error": refused.message(ctx)})
            continue
        room -= len(json.dumps(text))
        entries.append({**metadata, "name": shown(os.path.basename(path)), "content": text})
    metadata = {"count": len(entries), "failed": len(errors), "left_out": left_out}
    metadata["truncated"] = left_out > 0 or any(entry["truncated"] for entry in entries)
    if errors and not entries and not left_out:
        return {"ok": False, "error_class": errors[0]["error_class"], "error": errors[0]["error"], "entries": [], "errors": errors, "metadata": metadata}
    return {"ok": True, "entries": entries, "errors": errors, "metadata": metadata}


def run(args, ctx):
    try:
        if args.get("paths") is None and args.get("entries") is None:
            raise Refused("missing_input", "Which document to read is missing.", "Manca il documento da leggere.")
        reading, paths = Reading(args, ctx), targets(args)
        if len(paths) == 1:
            metadata, text = reading.read(paths[0], REPLY_BYTES)
            return {"ok": True, "content": text, "metadata": metadata}
        return read_many(reading, paths, ctx)
    except Refused as refused:
        return {"ok": False, "error_class": refused.error_class, "error": refused.message(ctx)}
