"""get_files: what is known about single files and folders: size, dates, type, digest, when a photo was shot.

It reads the first bytes for the type and the date of a photo, and a whole file only for its digest. It opens nothing but
regular files, and trusts no length that a file tells about itself.
"""

import os
import stat as modes
import time

REPLY_BYTES = 28 * 1024 * 1024
RESERVE_S = 1.0
ERRORS_SHOWN = 1000
DEFAULT_FIELDS = ("size", "dates", "mime")
# Where the description of a photo may stand: at most this far into the file, and at most this long.
EXIF_WITHIN = 1 << 20
EXIF_TAGS_MAX = 512

SIGNATURES = (
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"BM", "image/bmp"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"(\xb5/\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (0, b"\x7fELF", "application/x-executable"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\x1aE\xdf\xa3", "video/x-matroska"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"{\\rtf", "application/rtf"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (257, b"ustar", "application/x-tar"),
)
FORMS = {b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo", b"WEBP": "image/webp"}
BRANDS = {
    b"heic": "image/heic", b"heix": "image/heic", b"mif1": "image/heif", b"msf1": "image/heif", b"heif": "image/heif", b"avif": "image/avif",
    b"qt  ": "video/quicktime", b"M4A ": "audio/mp4",
}
# What a name's ending says where the bytes say only «zip», «text» or «something».
ENDINGS = {
    "txt": "text/plain", "log": "text/plain", "md": "text/markdown", "csv": "text/csv", "tsv": "text/tab-separated-values", "html": "text/html",
    "htm": "text/html", "css": "text/css", "js": "text/javascript", "mjs": "text/javascript", "json": "application/json", "xml": "application/xml",
    "yaml": "application/yaml", "yml": "application/yaml", "toml": "application/toml", "ini": "text/plain", "py": "text/x-python", "rs": "text/x-rust",
    "c": "text/x-c", "h": "text/x-c", "sh": "text/x-shellscript", "svg": "image/svg+xml", "eml": "message/rfc822", "ics": "text/calendar", "vcf": "text/vcard",
    "srt": "application/x-subrip", "mp3": "audio/mpeg", "aac": "audio/aac", "ts": "video/mp2t", "iso": "application/x-iso9660-image",
    "doc": "application/msword", "xls": "application/vnd.ms-excel", "ppt": "application/vnd.ms-powerpoint",
}
ZIPPED = {
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text", "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odp": "application/vnd.oasis.opendocument.presentation", "epub": "application/epub+zip", "jar": "application/java-archive",
    "apk": "application/vnd.android.package-archive",
}


class Refused(Exception):
    def __init__(self, error_class, english, italian):
        super().__init__(english)
        self.error_class, self.english, self.italian = error_class, english, italian

    def message(self, ctx):
        return self.italian if ctx.language == "it" else self.english


class OutOfTime(Exception):
    pass


def shown(path):
    return path.decode("utf-8", "replace")


# ---- which files ----


def targets(args):
    """The paths as bytes, in the order given, each once, with the entry each came from."""
    wanted = {}
    for path in args.get("paths") or []:
        wanted.setdefault(path_bytes(path), {})
    for entry in args.get("entries") or []:
        if not isinstance(entry, dict):
            raise Refused("invalid_args", "An entry is no object with a path.", "Un elemento non è un oggetto con un percorso.")
        if isinstance(entry.get("path_b64"), str):
            import binascii

            try:
                path = binascii.a2b_base64(entry["path_b64"].encode("ascii"))
            except (ValueError, UnicodeEncodeError):
                raise Refused("invalid_args", "path_b64 is no base64.", "path_b64 non è base64.")
        else:
            path = path_bytes(entry.get("path"))
        wanted.setdefault(path, entry)
    return wanted


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


def iso_utc(seconds):
    """The moment as ISO 8601 in UTC; None where the stored number is no date."""
    try:
        parts = time.gmtime(seconds)
    except (OverflowError, ValueError, OSError):
        return None
    if not 0 < parts[0] < 10000:
        return None
    return "%04d-%02d-%02dT%02d:%02d:%02dZ" % parts[:6]


def ending(name):
    """The extension: lower case, without the dot; a name that only starts with a dot has none."""
    stem, dot, last = shown(name).rpartition(".")
    return last.lower() if dot and stem.strip(".") else ""


# ---- types ----


def type_of(start, extension):
    """The media type by the first bytes; by the name only where the bytes allow it."""
    if not start:
        return ENDINGS.get(extension, "inode/x-empty")
    if start[:4] == b"PK\3\4" or start[:4] == b"PK\5\6":
        return ZIPPED.get(extension, "application/zip")
    if start[:4] == b"RIFF":
        return FORMS.get(start[8:12], "application/octet-stream")
    if start[4:8] == b"ftyp":
        return BRANDS.get(start[8:12], "video/mp4")
    for at, sign, mime in SIGNATURES:
        if start.startswith(sign, at):
            return ENDINGS.get(extension, mime) if mime == "application/x-ole-storage" else mime
    if b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ENDINGS.get(extension, "application/octet-stream") if not ENDINGS.get(extension, "").startswith("text/") else "application/octet-stream"
    head = start.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    if extension in ENDINGS:
        return ENDINGS[extension]
    if head.startswith(b"<svg"):
        return "image/svg+xml"
    if head.startswith(b"<?xml"):
        return "application/xml"
    return "text/plain" if is_text(start) else "application/octet-stream"


def is_text(start):
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    import codecs

    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
        return True
    except UnicodeDecodeError:
        # Latin-1 and its like: letters, and no control characters but breaks and tabs.
        return not any(byte < 32 and byte not in (9, 10, 12, 13, 27) for byte in start)


# ---- when a photo was shot ----


def taken_of(data, mime):
    """DateTimeOriginal as ISO 8601 in the camera's own time (with its zone where the camera says so); None if it is not told."""
    if mime == "image/jpeg":
        block = exif_of_jpeg(data)
    elif mime == "image/tiff":
        block = data
    elif mime == "image/png":
        at = data.find(b"eXIf")
        block = data[at + 4 :] if at > 0 else None
    elif mime in ("image/heic", "image/heif", "image/avif", "image/webp"):
        # Where exactly it lies is told by a table; its start is plain enough to be found without.
        at = data.find(b"Exif\0\0")
        block = data[at + 6 :] if at >= 0 else None
        if block is None and mime == "image/webp" and data.find(b"EXIF") > 0:
            block = data[data.find(b"EXIF") + 8 :]
    else:
        return None
    return date_in(block) if block else None


def exif_of_jpeg(data):
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker in (0xD9, 0xDA):
            return None
        length = data[at + 2] << 8 | data[at + 3]
        if marker == 0xE1 and data[at + 4 : at + 10] == b"Exif\0\0":
            return data[at + 10 : at + 2 + max(length, 2)]
        at += 2 + max(length, 2)
    return None


def date_in(block):
    order = {b"II*\0": "little", b"MM\0*": "big"}.get(block[:4])
    if order is None:
        return None

    def number(at, size):
        return int.from_bytes(block[at : at + size], order)

    def tags(at):
        """tag -> (how many bytes it has, where they or their offset stand)."""
        found = {}
        if not 8 <= at <= len(block) - 2:
            return found
        for index in range(min(number(at, 2), EXIF_TAGS_MAX)):
            here = at + 2 + 12 * index
            if here + 12 > len(block):
                break
            found.setdefault(number(here, 2), (number(here + 4, 4), here + 8))
        return found

    def text(found, tag):
        if tag not in found:
            return ""
        length, at = found[tag]
        if length > 4:
            at = number(at, 4)
        return block[at : at + min(length, 64)].split(b"\0")[0].decode("ascii", "replace").strip()

    first = tags(number(4, 4))
    inner = tags(number(first[0x8769][1], 4)) if 0x8769 in first else {}
    # The moment of the shot, then of the scan; the last change of the file is no such moment.
    for tag, zone_tag in ((0x9003, 0x9011), (0x9004, 0x9012)):
        moment = iso_of_exif(text(inner, tag))
        if moment:
            zone = text(inner, zone_tag)
            return moment + (zone if is_zone(zone) else "")
    return None


def is_zone(text):
    return len(text) == 6 and text[0] in "+-" and text[1:3].isdigit() and text[3] == ":" and text[4:].isdigit()


def iso_of_exif(text):
    """`2026:11:01 10:20:30` as ISO 8601; None for the zeros and blanks of cameras without a clock."""
    from datetime import datetime

    try:
        return datetime.strptime(text[:19], "%Y:%m:%d %H:%M:%S").isoformat()
    except ValueError:
        return None


# ---- looking ----


class Look:
    """Looks at one file after another as the arguments say."""

    def __init__(self, args, ctx):
        self.ctx = ctx
        fields = args.get("fields") or DEFAULT_FIELDS
        for field in fields:
            if field not in ("size", "dates", "mime", "sha256", "taken"):
                raise Refused("invalid_args", "There is no field «%s» of a file." % field, "Un file non ha il campo «%s»." % field)
        self.fields = frozenset(fields)

    def at(self, path, entry):
        try:
            status = os.stat(path)
        except (OSError, ValueError) as error:
            raise why_not(path, error) if isinstance(error, OSError) else Refused("invalid_args", "A path is no path.", "Un percorso non è un percorso.")
        name = os.path.basename(path.rstrip(b"/")) or path
        regular, folder = modes.S_ISREG(status.st_mode), modes.S_ISDIR(status.st_mode)
        found = dict(entry)
        found.update({"path": shown(path), "name": shown(name), "kind": "file" if regular else "dir" if folder else "other"})
        try:
            path.decode("utf-8")
        except UnicodeDecodeError:
            import binascii

            found["path_b64"] = binascii.b2a_base64(path, newline=False).decode("ascii")
        found["extension"] = "" if folder else ending(name)
        size = status.st_size if regular else 0
        if "size" in self.fields:
            found["size"] = size
        if "dates" in self.fields:
            found["modified"], found["accessed"] = iso_utc(status.st_mtime), iso_utc(status.st_atime)
            born = getattr(status, "st_birthtime", None)
            if born is not None:
                found["created"] = iso_utc(born)
        if folder and "mime" in self.fields:
            found["mime"] = "inode/directory"
        elif regular and self.fields & {"mime", "sha256", "taken"}:
            self.into(path, found)
        elif "mime" in self.fields:
            found["mime"] = "inode/x-special"
        return found, size

    def into(self, path, found):
        """What only the bytes tell. The file was a regular one a moment ago; opened without waiting, it is asked again."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise why_not(path, error)
        try:
            if not modes.S_ISREG(os.fstat(descriptor).st_mode):
                raise Refused("wrong_type", "%s is no ordinary file." % shown(path), "%s non è un file ordinario." % shown(path))
            start = os.pread(descriptor, 4096, 0)
            mime = type_of(start, found["extension"])
            if "mime" in self.fields:
                found["mime"] = mime
            if "taken" in self.fields:
                found["taken"] = taken_of(os.pread(descriptor, EXIF_WITHIN, 0), mime) if mime.startswith("image/") else None
            if "sha256" in self.fields:
                found["sha256"] = self.digest(descriptor)
        except OSError as error:
            raise why_not(path, error)
        finally:
            os.close(descriptor)

    def digest(self, descriptor):
        import hashlib

        digest, block, at = hashlib.sha256(), bytearray(1 << 20), 0
        view = memoryview(block)
        while True:
            count = os.preadv(descriptor, [block], at)
            if not count:
                return digest.hexdigest()
            digest.update(view[:count])
            at += count
            if self.ctx.remaining() < RESERVE_S:
                raise OutOfTime


def look_at_all(look, wanted, ctx):
    entries, errors, failed, total, room, left_out = [], [], 0, 0, REPLY_BYTES, 0
    for number, (path, entry) in enumerate(wanted.items()):
        if room < 0 or ctx.remaining() < RESERVE_S + 0.00002 * number:
            left_out = len(wanted) - number
            break
        if number % 1024 == 1023 or ("sha256" in look.fields and number % 32 == 31):
            ctx.progress(number, len(wanted), shown(path))
        # A byte can become six characters (\u00e8), and a name stands in the reply twice.
        room -= 420 + (2 if path.isascii() else 12) * len(path) + (len(str(entry)) * 2 if entry else 0)
        try:
            found, size = look.at(path, entry)
            total += size
            entries.append(found)
        except OutOfTime:
            left_out = len(wanted) - number
            break
        except Refused as refused:
            failed += 1
            if len(errors) < ERRORS_SHOWN:
                errors.append({"path": shown(path), "error_class": refused.error_class, "error": refused.message(ctx)})
    metadata = {"count": len(entries), "failed": failed, "total_size": total, "left_out": left_out, "truncated": left_out > 0, "timezone": ctx.timezone or "UTC"}
    if "taken" in look.fields:
        metadata["taken"] = sum(1 for entry in entries if entry.get("taken"))
    if failed and not entries:
        return {"ok": False, "error_class": errors[0]["error_class"], "error": errors[0]["error"], "entries": [], "errors": errors, "metadata": metadata}
    if left_out and not entries:
        raise Refused("timeout", "The file is too large to be read whole in the time there is.", "Il file è troppo grande per essere letto per intero nel tempo che c'è.")
    return {"ok": True, "entries": entries, "errors": errors, "metadata": metadata}


def run(args, ctx):
    try:
        if args.get("paths") is None and args.get("entries") is None:
            raise Refused("missing_input", "Which file to look at is missing.", "Manca il file da guardare.")
        return look_at_all(Look(args, ctx), targets(args), ctx)
    except Refused as refused:
        return {"ok": False, "error_class": refused.error_class, "error": refused.message(ctx)}
