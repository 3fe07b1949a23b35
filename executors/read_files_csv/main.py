"""read_files_csv: the rows of tables kept as text, with names, numbers and dates made out.

It guesses the delimiter, the header, the encoding and the notations from the file itself and says what it took them for.
A column becomes numbers or dates only as a whole; what is doubtful stays text. It reads rows as a stream: rows beyond the
limit are counted, not kept.
"""

import os
import stat as modes

REPLY_BYTES = 26 * 1024 * 1024
BLOCK_BYTES = 1 << 20
SAMPLE_BYTES = 256 * 1024
# The longest row, and the longest cell: beyond, it is no table of a person.
ROW_BYTES_MAX = 16 * 1024 * 1024
CELL_MAX = 4 * 1024 * 1024
COLUMNS_MAX = 10000
RESERVE_S = 2.0
# Time to make out the columns of this many kept cells in a second, with room to spare.
CELLS_PER_S = 400000
CHECK_EVERY = 16384
DELIMITERS = (",", ";", "\t", "|")
NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " ", "virgola": ",", "spazio": " "}
MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
NOT_FOR_FILES = ("idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7", "mbcs", "oem")


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


def open_regular(path):
    """A descriptor. The look comes first: opening a pipe or a device could wait or do something."""
    try:
        mode = os.stat(path).st_mode
        if modes.S_ISDIR(mode):
            raise Refused("wrong_type", "%s is a folder, not a file." % shown(path), "%s è una cartella, non un file." % shown(path))
        if not modes.S_ISREG(mode):
            raise Refused("wrong_type", "%s is no ordinary file." % shown(path), "%s non è un file ordinario." % shown(path))
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise why_not(path, error)


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
    return {"utf-8-sig": "utf-8"}.get(info.name, info.name)


def settle(asked, start, path):
    """(encoding, length of the mark, whether it is certain) by what was asked and by the first bytes."""
    for mark, encoding in MARKS:
        if start.startswith(mark) and asked in (None, encoding, encoding[:6], "utf-8" if encoding == "utf-8" else None):
            return encoding, len(mark), True
    if asked:
        return {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(asked, asked), 0, True
    if b"\0" in start:
        even, odd = start[0::2].count(0), start[1::2].count(0)
        if max(even, odd) > 8 * max(min(even, odd), 1) and 4 * max(even, odd) > len(start):
            return ("utf-16-le" if odd > even else "utf-16-be"), 0, True
        raise Refused("wrong_type", "%s is no text." % shown(path), "%s non è un testo." % shown(path))
    return "utf-8", 0, False


def survey(descriptor, encoding, certain, path, ctx):
    """Reads the file once: (encoding, lossy). Falls back to what Western files are in when they are no UTF-8."""
    import codecs

    strict = codecs.getincrementaldecoder(encoding)("strict")
    at = run = 0
    sound, undefined = True, False
    while True:
        block = os.pread(descriptor, BLOCK_BYTES, at)
        if not block:
            break
        at += len(block)
        last = max(block.rfind(b"\n"), block.rfind(b"\r"))
        run = run + len(block) if last < 0 else len(block) - last
        if run > ROW_BYTES_MAX:
            raise Refused("too_large", "%s has a row longer than 16 MB: it is no table." % shown(path), "%s ha una riga più lunga di 16 MB: non è una tabella." % shown(path))
        undefined = undefined or (not certain and any(byte in block for byte in (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d")))
        if sound:
            try:
                strict.decode(block)
            except UnicodeDecodeError:
                sound = False
        if ctx.remaining() < RESERVE_S:
            break
    if sound:
        try:
            strict.decode(b"", True)
            return encoding, False
        except UnicodeDecodeError:
            pass
    if certain:
        return encoding, True
    return ("latin-1" if undefined else "cp1252"), False


# ---- the shape of the table ----


def chosen_delimiter(text):
    if text is None:
        return None
    sign = NAMED.get(text.strip().lower() or text, text)
    if len(sign) != 1 or sign in '"\r\n':
        raise Refused("invalid_args", "«%s» cannot stand between cells: one character, or tab." % text, "«%s» non può separare le celle: un solo carattere, o tab." % text)
    return sign


def rows_of(text, delimiter, most=400):
    import csv

    rows = []
    try:
        for row in csv.reader(text.splitlines(True), delimiter=delimiter):
            if any(cell.strip() for cell in row):
                rows.append(row)
                if len(rows) >= most:
                    break
    except csv.Error:
        pass
    return rows


def most_common(numbers):
    counts = {}
    for number in numbers:
        counts[number] = counts.get(number, 0) + 1
    return max(counts.items(), key=lambda item: (item[1], item[0])) if counts else (0, 0)


def found_delimiter(sample):
    """The delimiter under which most rows have the same number of cells, and more than one."""
    import math

    best, best_score = ",", 0.0
    for delimiter in DELIMITERS:
        rows = rows_of(sample, delimiter)
        width, times = most_common(len(row) for row in rows if len(row) > 1)
        if not times:
            continue
        score = times / len(rows) * math.log2(width + 1)
        # The first row names the columns: under the right delimiter it has as many cells as the others.
        score *= 1.0 if len(rows[0]) == width else 0.8
        if score > best_score + 1e-9:
            best, best_score = delimiter, score
    return best


def first_of_table(rows):
    """How many rows stand before the table itself: titles and remarks of exports."""
    width, times = most_common(len(row) for row in rows)
    if width < 3 or times < 3:
        return 0
    for number, row in enumerate(rows[:30]):
        filled = sum(1 for cell in row if cell.strip())
        if len(row) >= width and filled * 2 > width:
            return number
        if number == 0 and filled * 2 > width:
            # A short first row is a header that lacks a name rather than a title.
            return 0
    return 0


def has_header(rows):
    """Whether the first row names the columns."""
    first, rest = rows[0], rows[1:]
    typed = [bool(cell.strip()) and kind_of_cell(cell) != "text" for cell in first]
    if any(typed):
        years = [cell.strip() for cell, is_typed in zip(first, typed) if is_typed]
        if typed[0] or len(set(years)) < len(years) or not all(len(year) == 4 and year[:2] in ("19", "20") and year.isdigit() for year in years):
            return False
        return True
    if not rest:
        return True
    for at in range(len(first)):
        below = [row[at] for row in rest if at < len(row) and row[at].strip()]
        if below and first[at].strip() and sum(1 for cell in below if kind_of_cell(cell) != "text") * 2 > len(below):
            return True
    again = sum(1 for at, cell in enumerate(first) if cell.strip() and any(at < len(row) and row[at].strip() == cell.strip() for row in rest))
    return again * 2 < max(len([cell for cell in first if cell.strip()]), 1)


def column_names(cells, taken, word):
    """(names for the columns, those of them that the header does not hold): «column 3» for a blank, «amount (2)» for a repetition."""
    headed = [" ".join(cell.replace("\0", "").split())[:200] for cell in cells]
    # A name that stands in the header is not given to another column.
    names, made, used = [], [], {*taken, *headed}
    met = set(taken)
    for number, name in enumerate(headed, 1):
        fresh, times = name or "%s %d" % (word, number), 2
        while fresh in (met if fresh == name else used):
            fresh, times = "%s (%d)" % (name or "%s %d" % (word, number), times), times + 1
        met.add(fresh)
        used.add(fresh)
        names.append(fresh)
        if fresh != name:
            made.append(fresh)
    return names, made


# ---- cells: numbers ----

CURRENCIES = ("€", "$", "£", "EUR", "USD", "GBP", "CHF")
_patterns = {}


def pattern(name):
    """Compiled on first use: many tables have no dates, and some no numbers."""
    found = _patterns.get(name)
    if found is None:
        import re

        sources = {
            "plain": r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?(?:[eE][-+]?\d{1,2})?",
            "number": r"([-+\u2212]?)((?:\d[\d.,'\u00a0\u202f ]*)?\d)",
            "iso": r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})",
            "parts": r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})",
            "day_month": r"(\d{1,2})(?:st|nd|rd|th|º|°)?[-\s./]*(?:of |di )?([^\W\d_]{3,12})\.?,?[-\s./]*(\d{4}|\d{2})",
            "month_day": r"([^\W\d_]{3,12})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})",
            "time": r"(\d{1,2})[:.](\d{2})(?:[:.](\d{2})(?:[.,](\d{1,9}))?)?\s*([aApP]\.?[mM]\.?)?\s*(Z|UTC|GMT|[-+]\d{2}:?\d{2})?",
        }
        found = _patterns[name] = re.compile(sources[name])
    return found


def bare(cell):
    """(text without its currency, the currency)."""
    text = cell.strip()
    for sign in CURRENCIES:
        if text.startswith(sign):
            return text[len(sign) :].strip(), sign
        if text.endswith(sign):
            return text[: -len(sign)].strip(), sign
        if text.startswith("-" + sign):
            return "-" + text[len(sign) + 1 :].strip(), sign
    return text, ""


def read_number(text):
    """("plain" | "comma" | "dot" | "either", value if the comma is decimal, value if the dot is); None if it is none.

    "comma" and "dot" say which sign must be the decimal one; "either" that both readings are possible.
    """
    if pattern("plain").fullmatch(text):
        value = number_from(text)
        whole, dot, part = text.partition(".")
        if dot and len(part) == 3 and len(whole.lstrip("-")) <= 3 and whole.lstrip("-") != "0" and "e" not in text.lower():
            return "either", number_from(whole + part), value
        return ("dot" if dot else "plain"), value, value
    match = pattern("number").fullmatch(text)
    if not match or len(text) > 40:
        return None
    sign, digits = match.group(1).replace("\u2212", "-"), match.group(2)
    comma, dot = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and dot >= 0:
        value = assembled(sign, digits, "," if comma > dot else ".")
        return None if value is None else ("comma" if comma > dot else "dot", value, value)
    mark = "," if comma >= 0 else "." if dot >= 0 else ""
    kind = {",": "comma", ".": "dot", "": "plain"}[mark]
    decimal = assembled(sign, digits, mark) if mark else None
    grouped = assembled(sign, digits, "")
    if decimal is not None and grouped is not None:
        return "either", (decimal if mark == "," else grouped), (grouped if mark == "," else decimal)
    if decimal is not None:
        return kind, decimal, decimal
    if grouped is not None:
        other = {"comma": "dot", "dot": "comma"}.get(kind, "plain")
        return other, grouped, grouped
    return None


def assembled(sign, digits, decimal):
    """The number under one reading of its marks; None where the groups of thousands are no groups."""
    whole, mark, part = digits.rpartition(decimal) if decimal else (digits, "", "")
    if not mark:
        whole, part = digits, ""
    if mark and not part.isdigit():
        return None
    groups, separators = [], set()
    current = ""
    for letter in whole:
        if letter.isdigit():
            current += letter
        else:
            separators.add(letter)
            groups.append(current)
            current = ""
    groups.append(current)
    if len(separators) > 1 or decimal in separators and decimal:
        return None
    if len(groups) > 1 and not (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])):
        return None
    joined = "".join(groups)
    # Leading zeros belong to codes and telephone numbers, and so do very long ones and those with a plus sign.
    if (len(joined) > 1 and joined[0] == "0") or not joined or len(joined) > 15 or (sign == "+" and len(joined) > 6):
        return None
    return number_from(("-" if sign == "-" else "") + joined + ("." + part if part else ""))


def number_from(text):
    if text.lstrip("-").isdigit():
        return int(text)
    value = float(text)
    return value if value - value == 0 else None


# ---- cells: dates ----

MONTHS = {}
MONTH_NAMES = (
    "january jan gennaio gen", "february feb febbraio", "march mar marzo", "april apr aprile", "may maggio mag", "june jun giugno giu",
    "july jul luglio lug", "august aug agosto ago", "september sep sept settembre set sett", "october oct ottobre ott", "november nov novembre",
    "december dec dicembre dic",
)
for _number, _names in enumerate(MONTH_NAMES, 1):
    MONTHS.update(dict.fromkeys(_names.split(), _number))


def read_date(text):
    """("sure", iso) | ("either", iso if the day comes first, iso if the month does) | None."""
    if not 6 <= len(text) <= 40:
        return None
    day, time = split_moment(text)
    if day is None:
        return None
    match = pattern("iso").fullmatch(day)
    if match:
        return sure(match.group(1), match.group(3), match.group(4), time)
    match = pattern("parts").fullmatch(day)
    if match:
        first, second, year = match.group(1), match.group(3), full_year(match.group(4))
        by_day, by_month = joined(year, second, first, time), joined(year, first, second, time)
        if by_day and by_month and first != second and match.group(2) != ".":
            return "either", by_day, by_month
        if match.group(2) == ".":
            return ("day", by_day, by_day) if by_day else None
        if by_day and by_month:
            return "sure", by_day, by_day
        if by_day:
            return "day", by_day, by_day
        return ("month", by_month, by_month) if by_month else None
    match = pattern("day_month").fullmatch(day)
    if match and match.group(2).lower() in MONTHS:
        return sure(full_year(match.group(3)), MONTHS[match.group(2).lower()], match.group(1), time)
    match = pattern("month_day").fullmatch(day)
    if match and match.group(1).lower() in MONTHS:
        return sure(match.group(3), MONTHS[match.group(1).lower()], match.group(2), time)
    return None


def sure(year, month, day, time):
    iso = joined(year, month, day, time)
    return ("sure", iso, iso) if iso else None


def full_year(text):
    """Two digits: up to 68 this century, from 69 the last one (as POSIX has it)."""
    if len(text) == 4:
        return text
    return ("20" if int(text) <= 68 else "19") + text


WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun", "lun", "mar", "mer", "gio", "ven", "sab", "dom")


def split_moment(text):
    """(day, ISO time with its zone or "") of a text; (None, "") where the rest is no time."""
    head, comma, rest = text.partition(",")
    if comma and head[:3].lower() in WEEKDAYS and head.isalpha():
        text = rest.strip()
    else:
        first, _, rest = text.partition(" ")
        if first[:3].lower() in WEEKDAYS and first.isalpha() and first.lower() not in MONTHS:
            text = rest.strip()
    at = text.find("T", 8)
    if at < 0:
        colon = text.find(":")
        if colon < 0:
            return text, ""
        at = text.rfind(" ", 0, colon)
        if at < 0:
            return None, ""
    match = pattern("time").fullmatch(text[at + 1 :].strip())
    if not match:
        return None, ""
    hour, minute, second, fraction, half, zone = match.groups()
    hour = int(hour)
    if half:
        if not 1 <= hour <= 12:
            return None, ""
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    if hour > 23 or int(minute) > 59 or int(second or 0) > 59:
        return None, ""
    clock = "T%02d:%s:%s" % (hour, minute, second or "00") + ("." + fraction if fraction else "")
    if zone in ("Z", "UTC", "GMT"):
        zone = "Z"
    elif zone and len(zone) == 5:
        zone = zone[:3] + ":" + zone[3:]
    return text[:at].rstrip(" ,"), clock + (zone or "")


DAYS = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def joined(year, month, day, time):
    """The ISO date, or None where there is no such day."""
    year, month, day = int(year), int(month), int(day)
    if not (1000 <= year <= 2999 and 1 <= month <= 12 and 1 <= day <= DAYS[month]):
        return None
    if month == 2 and day == 29 and (year % 4 or (year % 100 == 0 and year % 400)):
        return None
    return "%04d-%02d-%02d%s" % (year, month, day, time)


def kind_of_cell(cell):
    text, _ = bare(cell)
    if read_number(text) is not None:
        return "number"
    return "date" if read_date(text) is not None else "text"


# ---- columns ----


class Column:
    """One column of one file: what its cells can be read as."""

    def __init__(self, cells):
        self.kind, self.mixed, self.filled = "text", 0, 0
        self.readings = {}
        self.votes = {}
        self.look(cells)

    def look(self, cells):
        """Numbers first, then dates; each distinct text is read once."""
        distinct = {}
        for cell in cells:
            distinct[cell] = distinct.get(cell, 0) + 1
        filled = {cell: times for cell, times in distinct.items() if cell and cell.strip()}
        self.filled = sum(filled.values())
        if not filled:
            self.kind = "empty"
            return
        for kind in ("number", "date"):
            readings, votes, missed = {}, {}, 0
            currencies = set()
            for number, (cell, times) in enumerate(filled.items()):
                if kind == "number":
                    text, currency = bare(cell)
                    currencies.add(currency)
                    reading = read_number(text)
                else:
                    reading = read_date(cell.strip())
                if reading is None:
                    missed += times
                    # Hopeless early: most of the first hundred are none.
                    if number < 200 and missed > 100 or missed * 10 > self.filled:
                        break
                    continue
                readings[cell] = reading
                votes[reading[0]] = votes.get(reading[0], 0) + times
            else:
                if not missed and len(currencies) < 2 and self.agree(kind, readings, votes):
                    self.kind, self.readings, self.votes = kind, readings, votes
                    return
                self.mixed = max(self.mixed, missed)

    @staticmethod
    def agree(kind, readings, votes):
        """Whether the sure cells settle the doubtful ones: not where they contradict each other."""
        one, other = ("comma", "dot") if kind == "number" else ("day", "month")
        return not (votes.get("either") and votes.get(one) and votes.get(other))

    def side(self, file_side):
        """Which of the two readings holds, and whether that is a guess: 1 for comma or day, 2 for dot or month."""
        one, other = ("comma", "dot") if self.kind == "number" else ("day", "month")
        if self.votes.get(one):
            return 1, False
        if self.votes.get(other):
            return 2, False
        return file_side, bool(self.votes.get("either"))

    def values(self, cells, side):
        picked = {cell: reading[side] for cell, reading in self.readings.items()}
        return [picked.get(cell) for cell in cells]


class Table:
    """What was read of one file."""

    def __init__(self, path, reader, room, most):
        self.path, self.reader = path, reader
        self.names, self.renamed, self.rows, self.extras = [], [], [], {}
        self.total = self.ragged = self.bytes = 0
        self.room, self.most = room, most
        self.cut_by, self.counted, self.lossy = None, True, False
        self.preamble, self.unclosed, self.has_header = [], False, False
        self.encoding, self.delimiter = "utf-8", ","

    def read(self, descriptor):
        size = os.fstat(descriptor).st_size
        start = os.pread(descriptor, SAMPLE_BYTES, 0)
        encoding, mark, certain = settle(self.reader.encoding, start, self.path)
        self.encoding, self.lossy = survey(descriptor, encoding, certain, self.path, self.reader.ctx)
        import codecs

        sample = codecs.getincrementaldecoder(self.encoding)("replace").decode(start[mark:], size <= SAMPLE_BYTES)
        if size > SAMPLE_BYTES:
            sample = sample[: max(sample.rfind("\n"), sample.rfind("\r")) + 1] or sample
        skip = 0
        self.delimiter = self.reader.delimiter
        line = sample[:20].split("\n")[0].strip()
        if len(line) == 5 and line.lower().startswith("sep="):
            skip, self.delimiter = 1, self.delimiter or line[4]
            sample = sample.split("\n", 1)[1] if "\n" in sample else ""
        self.delimiter = self.delimiter or found_delimiter(sample)
        rows = rows_of(sample, self.delimiter)
        if not rows:
            return
        before = first_of_table(rows) if self.reader.header is not False else 0
        self.has_header = has_header(rows[before:]) if self.reader.header is None else self.reader.header
        if not self.has_header and self.reader.header is None:
            before = 0
        spaced = '%s "' % self.delimiter in sample[:4096]
        import csv

        try:
            unclosed = not self.stream(descriptor, mark, skip, before, spaced, csv.QUOTE_MINIMAL)
        except csv.Error:
            unclosed = True
        if unclosed:
            # A quote that is never closed would swallow all rows behind it: then quotes are but letters.
            self.names, self.rows, self.extras, self.preamble = [], [], {}, []
            self.total = self.ragged = self.bytes = 0
            self.cut_by, self.counted, self.unclosed = None, True, True
            try:
                self.stream(descriptor, mark, skip, before, spaced, csv.QUOTE_NONE)
            except csv.Error as error:
                raise Refused(
                    "unparseable", "%s cannot be read as a table: %s." % (shown(self.path), error), "%s non si può leggere come tabella: %s." % (shown(self.path), error)
                )

    def stream(self, descriptor, mark, skip, before, spaced, quoting):
        """Reads all rows; says whether the last one ended where it should."""
        import csv
        import io

        csv.field_size_limit(CELL_MAX)
        os.lseek(descriptor, mark, os.SEEK_SET)
        raw = io.BufferedReader(io.FileIO(descriptor, closefd=False), BLOCK_BYTES)
        text = io.TextIOWrapper(raw, encoding=self.encoding, errors="replace", newline="")
        for _ in range(skip):
            text.readline()
        reader = csv.reader(text, delimiter=self.delimiter, skipinitialspace=spaced, quoting=quoting)
        last = self.take(reader, before)
        text.detach()
        if quoting == csv.QUOTE_NONE or not last or "\n" not in last[-1] and "\r" not in last[-1]:
            return True
        size = os.fstat(descriptor).st_size
        return b'"' in os.pread(descriptor, 64, max(size - 64, 0)).replace(b"\0", b"").rstrip()[-1:]

    def take(self, reader, before):
        """Keeps rows as far as they fit and counts the others. Gives the last row."""
        width, keeping, last = 0, True, []
        header_due = self.has_header
        number = 0
        for row in reader:
            number += 1
            if not number % CHECK_EVERY and self.out_of_time(keeping, number):
                return []
            if not row or not any(row):
                continue
            last = row
            if before:
                before -= 1
                self.preamble.append(" ".join(cell.strip() for cell in row if cell.strip())[:200])
                continue
            if not width:
                width = self.begin(row, header_due)
                if header_due:
                    continue
            self.total += 1
            if len(row) != width:
                row, extra = self.even(row, width)
            else:
                extra = None
            if keeping:
                keeping = self.keep(row, extra)
        return last

    def out_of_time(self, keeping, number):
        ctx = self.reader.ctx
        ctx.progress(self.total, None, shown(self.path))
        left = ctx.remaining()
        if keeping and left < RESERVE_S + 1 + len(self.rows) * len(self.names) / CELLS_PER_S:
            self.cut_by = "deadline"
        if left < RESERVE_S + len(self.rows) * len(self.names) / CELLS_PER_S:
            self.cut_by, self.counted = self.cut_by or "deadline", False
            return True
        return False

    def begin(self, row, header):
        if len(row) > COLUMNS_MAX:
            raise Refused("too_large", "%s has more than %d columns." % (shown(self.path), COLUMNS_MAX), "%s ha più di %d colonne." % (shown(self.path), COLUMNS_MAX))
        taken = ["file"] if self.reader.several else []
        word = "colonna" if self.reader.ctx.language == "it" else "column"
        self.names, made = column_names(row if header else [""] * len(row), taken, word)
        self.renamed = made if header else []
        self.blank = [header and not cell.strip() for cell in row]
        self.row_bytes = sum(2 * len(name) if name.isascii() else 6 * len(name) for name in self.names) + 6 * len(self.names) + 8
        if self.reader.several:
            self.row_bytes += 12 + (len(self.path) if self.path.isascii() else 6 * len(self.path))
        return len(row)

    def even(self, row, width):
        """A row of the right width, and what is too much; ragged unless only empty cells are too much."""
        if len(row) < width:
            self.ragged += 1
            return row + [None] * (width - len(row)), None
        extra = row[width:]
        while extra and not extra[-1].strip():
            extra.pop()
        self.ragged += bool(extra)
        return row[:width], extra or None

    def keep(self, row, extra):
        if self.cut_by or len(self.rows) >= self.most:
            self.cut_by = self.cut_by or "max_rows"
            return False
        text = "".join([cell for cell in row if cell]) + "".join(extra or [])
        if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
            length = len(text)
        else:
            import json

            length = len(json.dumps(text))
        self.bytes += self.row_bytes + length + (4 * len(extra) + 12 if extra else 0)
        if self.bytes > self.room:
            self.cut_by = "reply_size"
            return False
        if extra:
            self.extras[len(self.rows)] = extra
        self.rows.append(row)
        return True

    def columns(self):
        """The columns by name; those without a name and without a cell are left out."""
        by_name = {}
        for at, name in enumerate(self.names):
            cells = [row[at] for row in self.rows]
            column = Column(cells)
            if column.kind == "empty" and self.blank[at]:
                continue
            by_name[name] = (cells, column)
        return by_name


# ---- all together ----


class Reader:
    """Reads one file after another as the arguments say, and makes one table of them."""

    def __init__(self, args, ctx, several):
        self.ctx, self.several = ctx, several
        self.encoding = chosen_encoding(args.get("encoding"))
        self.delimiter = chosen_delimiter(args.get("delimiter"))
        self.header = args.get("header")
        self.most = args.get("max_rows") or 100000

    def tables(self, paths):
        tables, errors, kept, used = [], [], 0, 0
        for path in paths:
            try:
                descriptor = open_regular(path)
                try:
                    table = Table(path, self, REPLY_BYTES - used, self.most - kept)
                    table.read(descriptor)
                except OSError as error:
                    raise why_not(path, error)
                except UnicodeError:
                    raise Refused("unparseable", "%s is not in the encoding that was named." % shown(path), "%s non è nella codifica indicata." % shown(path))
                finally:
                    os.close(descriptor)
            except Refused as refused:
                if len(paths) == 1:
                    raise
                errors.append({"path": shown(path), "error_class": refused.error_class, "error": refused.message(self.ctx)})
                continue
            kept, used = kept + len(table.rows), used + table.bytes
            tables.append(table)
        return tables, errors

    def reply(self, tables, errors, failed_all):
        read = [(table, table.columns()) for table in tables]
        names = list(dict.fromkeys(name for _, columns in read for name in columns))
        types, doubts = {}, {"day_first": [], "month_first": [], "decimal_comma": []}
        mixed = {}
        for name in names:
            found = [columns[name][1] for _, columns in read if name in columns]
            kinds = {column.kind for column in found if column.kind != "empty"}
            types[name] = kinds.pop() if len(kinds) == 1 else "text"
            missed = sum(column.mixed for column in found)
            if types[name] == "text" and missed:
                mixed[name] = missed
        entries = []
        for table, columns in read:
            self.add(entries, table, columns, types, doubts)
        metadata = self.metadata(tables, names, types, len(entries), failed_all)
        for key, value in doubts.items():
            if value:
                metadata[key] = list(dict.fromkeys(value))
        if mixed:
            metadata["mixed"] = mixed
        result = {"ok": True, "entries": entries, "metadata": metadata}
        if errors:
            result["errors"] = errors[:1000]
        return result

    def add(self, entries, table, columns, types, doubts):
        sides = {kind: self.file_side(kind, table, columns) for kind in ("number", "date")}
        ready = []
        for name, (cells, column) in columns.items():
            if types[name] == "text" or column.kind == "empty":
                ready.append(cells if types[name] == "text" else [None] * len(cells))
                continue
            side, guessed = column.side(sides[column.kind])
            if column.kind == "date" and guessed:
                doubts["day_first" if side == 1 else "month_first"].append(name)
            if column.kind == "number" and side == 1 and (column.votes.get("comma") or guessed):
                doubts["decimal_comma"].append(name)
            ready.append(column.values(cells, side))
        names, path = list(columns), shown(table.path)
        extra_name = "extra"
        while extra_name in names:
            extra_name += "_"
        for number, values in enumerate(zip(*ready)):
            entry = dict(zip(names, values))
            if self.several:
                entry["file"] = path
            if number in table.extras:
                entry[extra_name] = table.extras[number]
            entries.append(entry)

    def file_side(self, kind, table, columns):
        """How doubtful cells are read: as other columns of the file are; else by its delimiter and the language."""
        one, other = ("comma", "dot") if kind == "number" else ("day", "month")
        votes = [column.votes for _, column in columns.values() if column.kind == kind]
        ones, others = any(vote.get(one) for vote in votes), any(vote.get(other) for vote in votes)
        if ones != others:
            return 1 if ones else 2
        if kind == "number":
            return 1 if table.delimiter == ";" and not others and self.ctx.language == "it" else 2
        return 1 if self.ctx.language == "it" or table.delimiter == ";" else 2

    def metadata(self, tables, names, types, count, failed):
        first = tables[0]
        cut = next((table.cut_by for table in tables if table.cut_by), None)
        metadata = {
            "paths": [shown(table.path) for table in tables],
            "columns": names,
            "types": types,
            "count": count,
            "total_rows": sum(table.total for table in tables),
            "counted": all(table.counted for table in tables),
            "ragged": sum(table.ragged for table in tables),
            "delimiter": first.delimiter,
            "header": first.has_header,
            "encoding": first.encoding,
            "lossy": any(table.lossy for table in tables),
            "failed": failed,
            "truncated": cut is not None,
        }
        if cut:
            metadata["truncated_by"] = cut
        renamed = [name for name in names if any(name in table.renamed for table in tables)]
        if renamed:
            metadata["renamed"] = renamed
        if any(table.preamble for table in tables):
            metadata["preamble"] = [line for table in tables for line in table.preamble][:20]
        if any(table.unclosed for table in tables):
            metadata["unclosed_quote"] = True
        return metadata


def run(args, ctx):
    try:
        if args.get("paths") is None and args.get("entries") is None:
            raise Refused("missing_input", "Which table to read is missing.", "Manca la tabella da leggere.")
        paths = targets(args)
        if not paths:
            raise Refused("missing_input", "There is no file to read.", "Non c'è nessun file da leggere.")
        reader = Reader(args, ctx, len(paths) > 1)
        tables, errors = reader.tables(paths)
        if not tables:
            return {"ok": False, "error_class": errors[0]["error_class"], "error": errors[0]["error"]}
        return reader.reply(tables, errors, len(errors))
    except Refused as refused:
        return {"ok": False, "error_class": refused.error_class, "error": refused.message(ctx)}
