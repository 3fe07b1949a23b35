"""read_files: the text of one or several files, whole, or their first or last lines.

It reads no more of a file than it must (the tail of a huge one by seeking from its end), opens nothing but regular
files, and says when it took bytes that are no UTF-8 for a Western European encoding; it guesses no other.
"""

import os
import stat as modes

DEFAULT_MAX_BYTES = 4 * 1024 * 1024
# What one reply may take as JSON, kept under the declared output limit.
REPLY_BYTES = 6 * 1024 * 1024 - 128 * 1024
SAMPLE_BYTES = 8192
BLOCK_BYTES = 64 * 1024
RESERVE_S = 0.4
ERRORS_SHOWN = 1000

MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
# Bytes that no text has: control signs but tab, line and page breaks and escape.
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))
# Text codecs of Python that are no encodings of files.
NOT_FOR_FILES = ("idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7", "mbcs", "oem")


class Refused(Exception):
    def __init__(self, error_class, english, italian, result=None):
        super().__init__(english)
        self.error_class, self.english, self.italian, self.result = error_class, english, italian, result or {}

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
    if error.errno == errno.EISDIR:
        return Refused("wrong_type", "%s is a folder, not a file." % name, "%s è una cartella, non un file." % name)
    return Refused("operation_failed", "%s cannot be read: %s." % (name, error.strerror), "%s non si può leggere: %s." % (name, error.strerror))


def open_regular(path):
    """A descriptor and the size. The look comes first: opening a pipe or a device could wait or do something."""
    try:
        mode = os.stat(path).st_mode
        if modes.S_ISDIR(mode):
            raise Refused("wrong_type", "%s is a folder, not a file." % shown(path), "%s è una cartella, non un file." % shown(path))
        if not modes.S_ISREG(mode):
            raise Refused("wrong_type", "%s is no ordinary file." % shown(path), "%s non è un file ordinario." % shown(path))
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise why_not(path, error)
    return descriptor, os.fstat(descriptor).st_size


# ---- encodings ----


def chosen_encoding(name):
    """Python's name of the encoding that the caller asked for; None where none was."""
    if not name:
        return None
    import codecs

    try:
        info = codecs.lookup(name)
        known = info._is_text_encoding and info.name.replace("_", "-") not in NOT_FOR_FILES
    except (LookupError, ValueError):
        known = False
    if not known:
        raise Refused("invalid_args", "There is no text encoding called «%s»." % name, "Non esiste una codifica di testo chiamata «%s»." % name)
    return info.name


def settle(asked, start):
    """(encoding, length of the mark) from what was asked and from the file's first bytes."""
    for mark, encoding in MARKS:
        family = encoding[:6] if encoding != "utf-8" else encoding
        if start.startswith(mark) and asked in (None, encoding, family, family + "-sig"):
            return encoding, len(mark)
    # Without a mark the wide encodings have no order of their own: the usual one.
    return {None: "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le", "utf-8-sig": "utf-8"}.get(asked, asked), 0


def unit_of(encoding):
    if encoding.startswith("utf-16"):
        return 2
    return 4 if encoding.startswith("utf-32") else 1


def line_break(encoding):
    """The bytes of a line break; refused where text cannot be cut into lines by them."""
    mark = "\n".encode(encoding)
    if unit_of(encoding) == 1 and mark != b"\n":
        raise Refused(
            "invalid_args", "Lines cannot be counted in the encoding %s." % encoding, "Nella codifica %s le righe non si possono contare." % encoding
        )
    return mark


def decoded(data, encoding, complete):
    """(text, lossy). What is cut short at the end is dropped silently only where the data goes on (not complete)."""
    import codecs

    make = codecs.getincrementaldecoder(encoding)
    try:
        return make("strict").decode(data, complete), False
    except UnicodeDecodeError:
        return make("replace").decode(data, complete), True


def western(data, text):
    """(text, encoding) of bytes that are no UTF-8 where all of them are Western European text; None where they may be
    UTF-8 with a fault (a character of several bytes is among them) or no text at all (signs that steer)."""
    if not text.replace("\ufffd", "").isascii() or len(data.translate(None, CONTROLS)) < len(data):
        return None
    encoding = "cp1252" if len(data.translate(None, bytes(range(0x80, 0xA0)))) < len(data) else "latin-1"
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError:
        return None


def to_character(data, encoding):
    """Drops the rest of a character at the start of data that was cut anywhere (at a whole unit)."""
    if encoding == "utf-8":
        skip = 0
        while skip < 3 and skip < len(data) and data[skip] & 0xC0 == 0x80:
            skip += 1
        return data[skip:]
    if unit_of(encoding) == 2 and len(data) >= 2:
        high = data[1] if encoding == "utf-16-le" else data[0]
        return data[2:] if 0xDC <= high <= 0xDF else data
    return data


# ---- reading ----


def read_at(descriptor, start, length):
    pieces = []
    while length > 0:
        piece = os.pread(descriptor, min(length, 1 << 20), start)
        if not piece:
            break
        pieces.append(piece)
        start += len(piece)
        length -= len(piece)
    return b"".join(pieces)


def cut_lines(text):
    """The lines without their breaks; a last break makes no further line, a lone carriage return is no break."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line[:-1] if line.endswith("\r") else line for line in lines]


def count_lines(text):
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


class Part:
    """What was read of one file: bytes, whether they start where a character does, how many lines the whole file has
    (None: not known), and whether the limit cut off some of what was asked."""

    def __init__(self, data, starts_clean, total_lines, truncated):
        self.data, self.starts_clean, self.total_lines, self.truncated = data, starts_clean, total_lines, truncated


def breaks_in(data, mark):
    """How many line breaks stand in the data, at whole units only."""
    if len(mark) == 1:
        return data.count(mark)
    count, at = 0, data.find(mark)
    while at >= 0:
        count += at % len(mark) == 0
        at = data.find(mark, at + 1)
    return count


def lines_in(data, mark):
    ends_open = bool(data) and (not data.endswith(mark) or (len(data) % len(mark)) != 0)
    return breaks_in(data, mark) + ends_open


def end_of_first(data, mark, wanted):
    """Where the first `wanted` lines end, their break included; None if there are not that many breaks."""
    at = 0
    while wanted > 0:
        at = data.find(mark, at)
        while at >= 0 and at % len(mark):
            at = data.find(mark, at + 1)
        if at < 0:
            return None
        at += len(mark)
        wanted -= 1
    return at


def start_of_last(data, mark, wanted):
    """Where the last `wanted` lines start; None if there are not that many."""
    unit = len(mark)
    at = len(data) - len(data) % unit
    if len(data) % unit == 0 and data.endswith(mark):
        at -= unit
    if wanted == 0:
        return len(data)
    while wanted > 0:
        # Up to `at`, which is where the line that was last counted has its break.
        found = data.rfind(mark, 0, at)
        while found >= 0 and found % unit:
            found = data.rfind(mark, 0, found + unit - 1)
        if found < 0:
            return None
        at = found
        wanted -= 1
    return at + unit


def read_from(descriptor, start, max_bytes):
    data = read_at(descriptor, start, max_bytes + 1)
    return Part(data[:max_bytes], True, None, len(data) > max_bytes)


def read_head(descriptor, start, wanted, mark, max_bytes):
    """Reads block after block until the wanted lines are there."""
    data, ended, breaks = bytearray(), False, 0
    while not ended and breaks < wanted and len(data) <= max_bytes:
        piece = read_at(descriptor, start + len(data), BLOCK_BYTES if not data else 8 * BLOCK_BYTES)
        ended = not piece
        breaks += breaks_in(piece, mark)
        data += piece
    ended = ended or not read_at(descriptor, start + len(data), 1)
    total = lines_in(data, mark) if ended else None
    end = end_of_first(data, mark, wanted)
    if end is not None:
        data = data[:end]
    return Part(bytes(data[:max_bytes]), True, total, len(data) > max_bytes)


def read_tail(descriptor, start, size, wanted, mark, max_bytes):
    """Reads blocks from the end backwards until the wanted lines are there; text begins at `start`, after a mark."""
    unit, at, block, blocks, have, breaks = len(mark), size, BLOCK_BYTES, [], 0, 0
    # One break more than lines: the last line's own break does not end another one.
    while at > start and breaks <= wanted and have <= max_bytes:
        begin = max(start, at - block)
        begin -= (begin - start) % unit
        piece = read_at(descriptor, begin, at - begin)
        breaks += breaks_in(piece, mark)
        blocks.append(piece)
        have += len(piece)
        at, block = begin, min(block * 2, 1 << 20)
    data = b"".join(reversed(blocks))
    total = lines_in(data, mark) if at <= start else None
    begin = start_of_last(data, mark, wanted)
    incomplete = begin is None and at > start
    data = data[begin or 0 :]
    if len(data) <= max_bytes and not incomplete:
        return Part(data, True, total, False)
    drop = max(len(data) - max_bytes, 0)
    return Part(data[drop + -drop % unit :], False, total, True)


class Reader:
    """Reads one file after another as the arguments say."""

    def __init__(self, args):
        self.asked = chosen_encoding(args.get("encoding"))
        self.max_bytes = args.get("max_bytes") or DEFAULT_MAX_BYTES
        self.head, self.tail = args.get("head_lines"), args.get("tail_lines")
        self.offset = args.get("offset") or 0
        self.parse = args.get("parse")
        if self.head is not None and self.tail is not None:
            raise Refused("invalid_args", "Either the first lines or the last ones, not both.", "O le prime righe o le ultime, non tutte e due.")
        if self.parse == "json" and (self.head is not None or self.tail is not None or self.offset):
            raise Refused("invalid_args", "JSON is parsed from a whole file only.", "JSON si interpreta solo da un file intero.")
        if self.tail is not None and self.offset:
            raise Refused("invalid_args", "The last lines have no offset.", "Le ultime righe non hanno un punto di partenza.")

    def read(self, path):
        descriptor, size = open_regular(path)
        try:
            return self.read_open(path, descriptor, size)
        except OSError as error:
            raise why_not(path, error)
        finally:
            os.close(descriptor)

    def read_open(self, path, descriptor, size):
        sample = read_at(descriptor, 0, SAMPLE_BYTES)
        encoding, mark_length = settle(self.asked, sample)
        part = self.part(descriptor, size, encoding, mark_length)
        data = part.data if part.starts_clean and not self.offset else to_character(part.data, encoding)
        # A last character that the limit cut is left out; one that the file itself cuts is a fault of the file.
        text, lossy = decoded(data, encoding, self.tail is not None or not part.truncated)
        other = western(data, text) if lossy and encoding == "utf-8" and not mark_length and self.asked is None else None
        if other:
            (text, encoding), lossy = other, False
        if not mark_length and self.asked is None and self.is_binary(sample, text, lossy):
            raise self.binary(path, size)
        total = part.total_lines
        if self.head is None and self.tail is None:
            count = count_lines(text)
            total = count if not part.truncated else None
        else:
            lines = cut_lines(text)
            count, text = len(lines), "\n".join(lines)
        metadata = {
            "path": shown(path),
            "size": size,
            "encoding": encoding,
            "lossy": lossy,
            "lines": count,
            "truncated": part.truncated,
            "binary": False,
        }
        if other:
            metadata["guessed"] = True
        if total is not None and not self.offset:
            metadata["total_lines"] = total
        return text, metadata

    def part(self, descriptor, size, encoding, mark_length):
        # An offset counts the file's bytes; it moves up to the next whole unit.
        start = max(self.offset, mark_length)
        start += -(start - mark_length) % unit_of(encoding)
        if self.head is not None:
            return read_head(descriptor, start, self.head, line_break(encoding), self.max_bytes)
        if self.tail is None:
            return read_from(descriptor, start, self.max_bytes)
        if size == 0:
            # Some files of the system say 0 and have text all the same.
            size = len(read_at(descriptor, 0, self.max_bytes))
        return read_tail(descriptor, mark_length, size, self.tail, line_break(encoding), self.max_bytes)

    def is_binary(self, sample, text, lossy):
        if "\0" in text:
            return True
        # Lines that are clean text are shown even where the file's beginning is not (a log with a hole before them).
        return b"\0" in sample and (self.tail is None or lossy)

    def binary(self, path, size):
        name = shown(path)
        metadata = {"path": name, "size": size, "encoding": None, "lossy": False, "lines": 0, "truncated": False, "binary": True}
        return Refused(
            "wrong_type",
            "%s holds binary data, not text." % name,
            "%s contiene dati binari, non testo." % name,
            {"content": "", "metadata": metadata},
        )


# ---- replies ----


def json_length(text):
    """How many bytes the text takes in a reply that escapes all but ASCII: the most that it can be."""
    import json

    return len(json.dumps(text))


def fit(text, budget):
    """(text, whether it had to be cut) so that it takes at most `budget` bytes of JSON."""
    if len(text) * 12 <= budget or json_length(text) <= budget:
        return text, False
    low, high = 0, len(text)
    while high - low > 1024:
        middle = (low + high) // 2
        if json_length(text[:middle]) <= budget:
            low = middle
        else:
            high = middle
    return text[:low], True


def parsed(text, metadata):
    """The JSON value; numbers that the reply cannot carry make it unparseable rather than wrong."""
    import json

    def refuse(detail_en, detail_it):
        return Refused("unparseable", "%s is no JSON: %s." % (metadata["path"], detail_en), "%s non è JSON: %s." % (metadata["path"], detail_it))

    def whole(digits):
        value = int(digits) if len(digits) <= 20 else 1 << 70
        if not -(1 << 63) <= value < 1 << 64:
            raise refuse("a number has more than 64 bits", "un numero ha più di 64 bit")
        return value

    def real(digits):
        value = float(digits)
        if value in (float("inf"), float("-inf")):
            raise refuse("a number is too large", "un numero è troppo grande")
        return value

    def constant(name):
        raise refuse("%s is no number" % name, "%s non è un numero" % name)

    if metadata["truncated"]:
        raise Refused("too_large", "%s is too large to be parsed." % metadata["path"], "%s è troppo grande per essere interpretato." % metadata["path"])
    try:
        return json.loads(text, parse_int=whole, parse_float=real, parse_constant=constant)
    except RecursionError:
        raise refuse("nested too deeply", "troppi livelli")
    except ValueError as error:
        line, column = getattr(error, "lineno", 0), getattr(error, "colno", 0)
        raise refuse("line %d, column %d" % (line, column), "riga %d, colonna %d" % (line, column))


def read_one(reader, path):
    text, metadata = reader.read(path)
    result = {"ok": True, "content": text, "metadata": metadata}
    if reader.parse == "json":
        result["data"] = parsed(text, metadata)
        if json_length(text) + json_length(result["data"]) > REPLY_BYTES:
            raise Refused("too_large", "%s is too large to be parsed." % metadata["path"], "%s è troppo grande per essere interpretato." % metadata["path"])
        return result
    result["content"], cut = fit(text, REPLY_BYTES)
    if cut:
        metadata["truncated"] = True
        metadata["lines"] = count_lines(result["content"])
    return result


def read_many(reader, paths, ctx):
    entries, errors, failed, budget, left_out = [], [], 0, REPLY_BYTES, 0
    for number, path in enumerate(paths):
        if budget < 4096 or ctx.remaining() < RESERVE_S:
            left_out = len(paths) - number
            break
        try:
            text, metadata = reader.read(path)
            entry = {"path": shown(path), "name": shown(os.path.basename(path)), "content": text}
            for key in ("size", "encoding", "lossy", "truncated", "lines"):
                entry[key] = metadata[key]
            if "guessed" in metadata:
                entry["guessed"] = True
            if reader.parse == "json":
                entry["data"] = parsed(text, metadata)
                budget -= json_length(entry["data"])
            budget -= 1024 + 12 * len(path)
            entry["content"], cut = fit(text, max(budget, 0))
            entry["truncated"] = entry["truncated"] or cut
            budget -= json_length(entry["content"])
            entries.append(entry)
        except Refused as refused:
            failed += 1
            if len(errors) < ERRORS_SHOWN:
                errors.append({"path": shown(path), "error_class": refused.error_class, "error": refused.message(ctx)})
                budget -= 1024 + 24 * len(path)
        if number % 64 == 63:
            ctx.progress(number + 1, len(paths), shown(path))
    metadata = {"count": len(entries), "failed": failed, "left_out": left_out}
    metadata["truncated"] = left_out > 0 or any(entry["truncated"] for entry in entries)
    if failed and not entries and not left_out:
        first = errors[0]
        return {"ok": False, "error_class": first["error_class"], "error": first["error"], "entries": [], "errors": errors, "metadata": metadata}
    return {"ok": True, "entries": entries, "errors": errors, "metadata": metadata}


def run(args, ctx):
    try:
        if args.get("paths") is None and args.get("entries") is None:
            raise Refused("missing_input", "Which file to read is missing.", "Manca il file da leggere.")
        reader, paths = Reader(args), targets(args)
        if len(paths) == 1:
            return read_one(reader, paths[0])
        return read_many(reader, paths, ctx)
    except Refused as refused:
        result = {"ok": False, "error_class": refused.error_class, "error": refused.message(ctx)}
        result.update(refused.result)
        return result
