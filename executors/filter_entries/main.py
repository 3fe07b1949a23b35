"""filter_entries: those of the entries that fit conditions on their fields, in their order and whole.

It changes no entry and guesses no condition.
"""

# More than this in one call is refused; a tenth of it goes through in about a second.
ENTRIES_MAX = 1000000
OPS = ("eq", "ne", "lt", "le", "gt", "ge", "contains", "not_contains", "starts", "ends", "regex", "between", "in", "exists", "empty")
NO_VALUE = ("exists", "empty")

class Refused(Exception):
    def __init__(self, error_class, english, italian):
        super().__init__(english)
        self.error_class, self.english, self.italian = error_class, english, italian

# ---- entries ----


def list_of_entries(value):
    if value is None:
        raise Refused("missing_input", "A list of entries is missing.", "Manca una lista di elementi.")
    if not isinstance(value, list) or not all([isinstance(entry, dict) for entry in value]):
        raise Refused("invalid_args", "The entries are no list of objects.", "Gli elementi non sono una lista di oggetti.")
    if len(value) > ENTRIES_MAX:
        raise Refused(
            "too_large",
            "%d entries are more than the %d that fit: filter them first." % (len(value), ENTRIES_MAX),
            "%d elementi sono più dei %d possibili: prima vanno filtrati." % (len(value), ENTRIES_MAX),
        )
    return value


def fields_of(entries):
    """All names of fields, in the order in which they come first."""
    names = {}
    for shape in dict.fromkeys(map(tuple, entries)):
        names.update(dict.fromkeys(shape))
    return list(names)


def about(entries, names, by=()):
    """What the entries are, which fields show them to a person, and which of those are sizes in bytes."""
    if "pid" in names and "name" in names:
        what, shown, sizes = "processes", [name for name in ("pid", "name", "memory", "cpu") if name in names], ["memory"]
    elif "path" in names:
        what, shown, sizes = "files", [name for name in ("size", "path") if name in names], ["size"]
    else:
        what, shown, sizes = "items" if "url" in names or "text" in names else "rows", [name for name in names if name != "path_b64"][:50], []
    if what != "rows" and by:
        # What they are sorted by stands before the path, the rest of a file's size is noise then.
        also = [name for name in names if any([same_field(name, asked) for asked in by]) and name not in ("path", "name", "path_b64")]
        shown = also + [name for name in shown if name not in also and not (what == "files" and also and name == "size")]
    kinds = {entry.get("kind") for entry in entries} if what == "files" else ()
    if "dir" in kinds:
        what = "dirs" if len(kinds) == 1 else "items"
    return what, shown, [name for name in sizes if name in names]


def same_field(name, asked):
    return plain(name) == plain(asked) or (plain(asked) in CALLED and CALLED.get(plain(name)) == CALLED[plain(asked)])

# ---- fields ----

# What people call the fields that files and processes have, in both languages.
SYNONYMS = {
    "size": "size bytes byte filesize dimensione dimensioni grandezza peso",
    "name": "name filename nome nomefile",
    "path": "path filepath percorso",
    "modified": "modified mtime date changed modifiedat lastmodified modificato modificati modifica data datadimodifica",
    "extension": "extension ext suffix estensione estensioni",
    "folder": "folder dir dirname directory parent cartella",
    "type": "type filetype category tipo tipologia",
    "year": "year anno",
    "month": "month mese",
    "day": "day giorno",
    "week": "week settimana",
    "memory": "memory mem ram rss memoria",
    "cpu": "cpu processor processore",
}
CALLED = {word: field for field, words in SYNONYMS.items() for word in words.split()}
TYPES = {
    "picture": "jpg jpeg jpe png gif bmp webp tif tiff heic heif avif svg ico raw cr2 nef arw dng psd xcf",
    "video": "mp4 m4v mkv avi mov wmv webm mpg mpeg 3gp flv ogv mts",
    "audio": "mp3 flac ogg oga opus wav m4a aac wma aiff mid midi",
    "document": "pdf doc docx odt rtf txt md rst tex epub mobi xls xlsx ods csv tsv ppt pptx odp pages numbers key eml log",
    "archive": "zip tar gz tgz bz2 tbz xz txz zst 7z rar iso jar deb rpm cab",
    "code": "py rs js ts jsx tsx c h cpp hpp cc java kt go rb php sh bash zsh pl lua sql html htm css scss json xml yaml yml toml ini ipynb swift cs r",
}
TYPE_OF = {extension: kind for kind, extensions in TYPES.items() for extension in extensions.split()}


def plain(text):
    """Letters and digits only, without case and accents: how names of fields are compared."""
    if text.isascii():
        return "".join(filter(str.isalnum, text.lower()))
    import unicodedata

    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", text).casefold()))


def words_of(text):
    return [plain(word) for word in "".join([sign if sign.isalnum() else " " for sign in text]).split()]


def stem(word):
    """Without what tells one from many: price and prices, spesa and spese."""
    return word.rstrip("s").rstrip("aeio") if len(word) > 3 else word


def reader(asked, names, ctx, entries=()):
    """A function that takes the field out of an entry, None where it is missing. Every name that means it is tried in turn."""
    wanted = plain(asked)
    found = [name for name in names if name == asked] or [name for name in names if plain(name) == wanted]
    if found:
        return first_of(found)
    base, colon, part = asked.rpartition(":")
    part = CALLED.get(plain(part), "")
    if colon and part in ("year", "month", "day", "week"):
        return part_of(reader(base, names, ctx), part, ctx, entries)
    meant = CALLED.get(wanted)
    found = [name for name in names if meant and CALLED.get(plain(name)) == meant]
    if found:
        return first_of(found)
    computed = derived(meant, names, ctx, entries)
    if computed:
        return computed
    for same in (lambda name: wanted in words_of(name), lambda name: stem(plain(name)) == stem(wanted), lambda name: stem(wanted) in map(stem, words_of(name))):
        found = [name for name in names if wanted and same(name)]
        if len(found) == 1:
            return first_of(found)
    if not names:
        return lambda entry: None
    known = ", ".join(names[:30]) + (", …" if len(names) > 30 else "")
    raise Refused("not_found", "No entry has a field «%s»; there are: %s." % (asked, known), "Nessun elemento ha un campo «%s»; ci sono: %s." % (asked, known))


def first_of(found):
    if len(found) == 1:
        name = found[0]
        return lambda entry: entry.get(name)

    def take(entry):
        for name in found:
            if entry.get(name) is not None:
                return entry[name]
        return None

    return take


def derived(meant, names, ctx, entries):
    """What follows from other fields: parts of the path, of the date."""
    if meant in ("year", "month", "day", "week"):
        dates = [name for name in ("taken", "modified") if name in names] or [name for name in names if CALLED.get(plain(name)) == "modified"]
        return part_of(first_of(dates), meant, ctx, entries) if dates else None
    source = first_of([name for name in ("path", "name") if name in names]) if "path" in names or "name" in names else None
    if source is None or meant not in ("name", "extension", "folder", "type"):
        return None
    if meant == "folder":
        return (lambda entry: text_of(source(entry)).rpartition("/")[0] or "/") if "path" in names else None
    if meant == "name":
        return lambda entry: text_of(source(entry)).rpartition("/")[2] or None
    if meant == "extension":
        return lambda entry: extension_of(source(entry))
    return lambda entry: "folder" if entry.get("kind") == "dir" else TYPE_OF.get(extension_of(source(entry)), "other")


def extension_of(path):
    stem, dot, extension = text_of(path).rpartition("/")[2].rpartition(".")
    return extension.lower() if dot and stem else ""


def text_of(value):
    """The value as a person would write it; nothing for nothing."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    import json

    return json.dumps(value, ensure_ascii=False)


def part_of(take, part, ctx, entries):
    """year as a number, month as 2026-03, day as 2026-03-05, week as 2026-W10; in the person's time zone."""
    moments, kept = Moments(ctx, [take(entry) for entry in entries]), {}

    def parted(entry):
        value = take(entry)
        if not isinstance(value, str):
            return None
        if value not in kept:
            when = moments.local(value)
            kept[value] = None if when is None else {
                "year": lambda: when.year,
                "month": lambda: "%04d-%02d" % (when.year, when.month),
                "day": lambda: "%04d-%02d-%02d" % (when.year, when.month, when.day),
                "week": lambda: "%04d-W%02d" % tuple(when.isocalendar())[:2],
            }[part]()
        return kept[value]

    parted.moments = moments
    return parted

def folded(text):
    """Without case and accents: how texts are compared."""
    if text.isascii():
        return text.lower()
    import unicodedata

    parts = unicodedata.normalize("NFKD", text)
    return "".join([sign for sign in parts if not unicodedata.combining(sign)]).casefold()

# ---- moments ----

ISO_DATE = r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?(?:([Zz])|([+-])(\d\d):?(\d\d))?)?"
# 2024/3/4, 4/3/24, 4.3.2024, 4 March 2024, 4° marzo 2024, March 4, 2024; behind a weekday, before a time.
OTHER_DATE = (
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun|lun|mar|mer|gio|ven|sab|dom)[^\W\d_]*[.,]*\s+)?"
    r"(?:(\d{4})[-/.](\d\d?)[-/.](\d\d?)|(\d\d?)([-/.])(\d\d?)\5(\d{4}|(?<=/)\d\d)"
    r"|(\d\d?)(?:st|nd|rd|th|º|°)?[-\s./]*(?:of |di )?([^\W\d_]{3,12})\.?,?[-\s./]*(\d{4})|([^\W\d_]{3,12})\.?\s+(\d\d?)(?:st|nd|rd|th)?,?\s+(\d{4}))"
    r"(?:,?[T\s]+(\d\d?):(\d\d)(?::(\d\d))?)?"
)
MONTHS = (
    "january jan gennaio gen", "february feb febbraio", "march mar marzo", "april apr aprile", "may maggio mag", "june jun giugno giu", "july jul luglio lug",
    "august aug agosto ago", "september sep sept settembre set sett", "october oct ottobre ott", "november nov novembre", "december dec dicembre dic",
)


class Moments:
    """Days and moments as seconds since 1970; what names no zone is in the person's.

    Texts other than ISO 8601 are dates where at least half of the column are. Whether the day or the month comes first in
    03/04/2024 is learnt from the cells that can be read but one way, else it is by the language: `example` is such a cell.
    """

    def __init__(self, ctx, values=()):
        self.zone_name, self.zone, self.kept, self.match, self.other = getattr(ctx, "timezone", None), None, {}, None, None
        self.mixed, self.first, self.example, self.read = False, 0 if ctx.language == "it" else 1, None, {}
        texts = [text for text in dict.fromkeys([value for value in values if isinstance(value, str)]) if text.strip()]
        if any([text[4:5] != "-" or len(text) < 10 for text in texts]):
            self.learn(texts)

    def learn(self, texts):
        head = texts[:200]
        if 2 * len([text for text in head if self.readings(text)]) < len(head):
            return
        self.mixed = True
        self.read = {text: pair for text, pair in [(text, self.readings(text)) for text in texts] if pair}
        sure = {pair.index(None) for pair in self.read.values() if None in pair}
        if len(sure) == 1:
            self.first = 1 - sure.pop()
        else:
            self.example = ([text for text, (one, other) in self.read.items() if one and other and one != other] or [None])[0]

    def readings(self, text):
        """(ISO text with the day first, with the month first): equal where both are the same; None where it is no date."""
        if self.other is None:
            import re

            self.other = re.compile(OTHER_DATE, re.IGNORECASE).fullmatch
        text = text.strip()
        found = self.other(text) if 6 <= len(text) <= 40 else None
        if not found:
            return (text, text) if self.plain(text) else None
        year, month, day, one, sign, two, end, first, named, after, name, second, last, hour, minute, seconds = found.groups()
        if named or name:
            word = (named or name).lower()
            month = ([number for number, words in enumerate(MONTHS, 1) if word in words.split()] or [None])[0]
            year, day = after or last, first or second
        clock = "T%02d:%s:%s" % (int(hour), minute, seconds or "00") if hour else ""
        if one is None:
            sure = written(year, month, day, clock)
            return (sure, sure) if sure else None
        year = end if len(end) == 4 else ("20" if int(end) <= 68 else "19") + end
        pair = written(year, two, one, clock), None if sign == "." else written(year, one, two, clock)
        return pair if any(pair) else None

    def of(self, value):
        if not isinstance(value, str) or len(value) > 40 or (not self.mixed and (len(value) < 10 or value[4] != "-")):
            return None
        if value not in self.kept:
            when = self.local(value)
            self.kept[value] = None if when is None else when.timestamp()
        return self.kept[value]

    def iso(self, value):
        """A text in any notation as ISO 8601, by what was learnt; as it is where it is no date."""
        pair = self.read.get(value) or self.readings(value)
        return (pair[self.first] or pair[1 - self.first]) if pair else value

    def doubt(self):
        """What a person is told where days and months were told apart by a guess."""
        return {"dates": {"first": "month" if self.first else "day", "example": self.example}} if self.example else {}

    def plain(self, text):
        """The match of an ISO 8601 text, None where it is none."""
        if self.match is None:
            import re

            self.match, self.zone = re.compile(ISO_DATE, re.ASCII).fullmatch, self.local_zone()
        return self.match(text)

    def local(self, value):
        from datetime import datetime, timedelta, timezone

        found = self.plain((self.iso(value) if self.mixed else value).strip())
        if not found:
            return None
        year, month, day, hour, minute, second, fraction, utc, sign, hours, minutes = found.groups()
        try:
            zone = timezone.utc if utc else self.zone
            if sign:
                zone = timezone(timedelta(hours=int(sign + hours), minutes=int(sign + minutes)))
            micros = int((fraction or "0").ljust(6, "0")[:6])
            when = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), micros, zone)
            return when.astimezone(self.zone)
        except (ValueError, OverflowError):
            return None

    def local_zone(self):
        from datetime import timezone

        if not self.zone_name or self.zone_name == "UTC":
            return timezone.utc
        import zoneinfo

        try:
            return zoneinfo.ZoneInfo(self.zone_name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            return timezone.utc


def written(year, month, day, clock):
    """The ISO text, None where there is no such day."""
    import datetime

    try:
        return datetime.date(int(year), int(month), int(day)).isoformat() + clock
    except (TypeError, ValueError):
        return None

# ---- numbers ----

# Plain, English and Italian notation, with a currency, a per cent sign or a unit of size.
NUMBER = (
    "(?:[€$£]|EUR|USD|GBP|CHF)? ?([-+\u2212]?) ?(?:[€$£] ?)?([0-9][0-9.,'\u2019\u00a0\u202f ]*(?<! )|[.,][0-9]+)(e[-+]?[0-9]{1,3})?"
    " ?([€$£%]|EUR|USD|GBP|CHF|euro|[kmgt]i?b|b|bytes?)?"
)
FIRST_SIGNS = "0123456789+-\u2212.,€$£EUGCeugc \u00a0"
UNITS = {"kb": 1000, "mb": 1000**2, "gb": 1000**3, "tb": 1000**4, "kib": 1024, "mib": 1024**2, "gib": 1024**3, "tib": 1024**4}


class Numbers:
    """Values as numbers. How a text with one sign is meant («1.234») is learnt from the other texts, else from the language."""

    def __init__(self, values, ctx):
        self.kept, self.match = {}, None
        dots = commas = 0
        for value in dict.fromkeys([value for value in values if isinstance(value, str) and len(value) <= 40 and ("," in value or "." in value)]):
            sign = decimal_sign(value)
            dots, commas = dots + (sign == "."), commas + (sign == ",")
        self.decimal = "," if commas > dots or (commas == dots and ctx.language == "it") else "."

    def of(self, value):
        if isinstance(value, (int, float)):
            return None if isinstance(value, bool) or value != value or value in (float("inf"), float("-inf")) else value
        if not isinstance(value, str) or not value or len(value) > 40 or value[0] not in FIRST_SIGNS:
            return None
        if value not in self.kept:
            self.kept[value] = self.read(value)
        return self.kept[value]

    def read(self, text):
        if self.match is None:
            import re

            self.match = re.compile(NUMBER, re.IGNORECASE).fullmatch
        text = text.strip()
        if text.isdigit() and text.isascii() and (text[0] != "0" or text == "0"):
            return whole(int(text))
        found = self.match(text)
        if not found:
            return None
        sign, body, exponent, unit = found.groups()
        body = bare(body, self.decimal)
        if body is None:
            return None
        factor = UNITS.get((unit or "").lower(), 1)
        minus = -1 if sign in ("-", "\u2212") else 1
        if "." not in body and not exponent:
            return whole(minus * factor * int(body))
        value = minus * factor * float(body + (exponent or ""))
        return None if value in (float("inf"), float("-inf")) else (round(value) if factor > 1 and abs(value) < 2**53 else value)


def whole(value):
    return value if abs(value) < 2**63 else float(value)


def decimal_sign(text):
    """The sign that this text shows to be the decimal one; None where it could be either."""
    digits = "".join([sign for sign in text if sign in "0123456789.,"])
    dots, commas = digits.count("."), digits.count(",")
    if dots and commas:
        return "." if digits.rfind(".") > digits.rfind(",") else ","
    if dots + commas > 1:
        return "," if dots else "."
    before, sign, after = digits.partition("." if dots else ",")
    if len(after) == 3 and 1 <= len(before) <= 3 and before[0] != "0":
        return None
    return sign


def bare(body, decimal):
    """The digits with a dot for the decimal sign; None where the groups are none."""
    for space in ("'", "\u2019", "\u00a0", "\u202f", " "):
        if space in body:
            head = body.split(",")[0].split(".")[0].split(space)
            if not 1 <= len(head[0]) <= 3 or any([len(group) != 3 for group in head[1:]]):
                return None
            body = body.replace(space, "")
    sign = decimal_sign(body) or decimal
    group = "," if sign == "." else "."
    if group in body:
        groups = body.split(sign)[0].split(group)
        if not 1 <= len(groups[0]) <= 3 or any([len(digits) != 3 for digits in groups[1:]]) or groups[0].startswith("0"):
            return None
        body = body.replace(group, "")
    body = body.replace(sign, ".")
    if body.count(".") > 1 or (body[0] == "0" and len(body) > 1 and body[1] != "."):
        return None
    return body

# ---- conditions ----


def is_empty(value):
    return value is None or value == "" or value == [] or value == {}


def span(wanted, moments):
    """(first second, first second after it) of a year, a month, a day or a moment; None where it is no date."""
    from datetime import datetime

    text = wanted.strip() if isinstance(wanted, str) else str(wanted) if isinstance(wanted, int) and 1900 <= wanted <= 2200 else ""
    text = moments.iso(text) if len(text) > 7 else text
    if len(text) == 4 and text.isdigit():
        start, end = text + "-01-01", "%04d-01-01" % (int(text) + 1)
    elif len(text) == 7 and text[4] == "-" and (text[:4] + text[5:]).isdigit():
        year, month = int(text[:4]), int(text[5:])
        start, end = text + "-01", "%04d-%02d-01" % ((year, month + 1) if month < 12 else (year + 1, 1))
    elif len(text) == 10:
        try:
            start, end = text, datetime.fromordinal(datetime.fromisoformat(text).toordinal() + 1).date().isoformat()
        except (ValueError, OverflowError):
            return None
    else:
        start = end = text
    first, after = moments.of(start), moments.of(end)
    return None if first is None or after is None else (first, after)


class Condition:
    """One condition; `fits(value)` says whether a value obeys it."""

    def __init__(self, given, values, ctx):
        self.op, wanted = given.get("op") or "eq", given.get("value")
        if self.op not in OPS:
            raise Refused("invalid_args", "There is no op «%s»; there are: %s." % (self.op, ", ".join(OPS)), "Non esiste l'op «%s»; ci sono: %s." % (self.op, ", ".join(OPS)))
        if self.op not in NO_VALUE and "value" not in given:
            raise Refused("missing_input", "The value to compare with is missing (op %s)." % self.op, "Manca il valore con cui confrontare (op %s)." % self.op)
        self.wanted = list(self.many(wanted)) if self.op in ("between", "in") else [wanted]
        listed = [value for value in self.wanted if isinstance(value, str)]
        self.numbers, self.moments = Numbers(values + listed if self.op not in NO_VALUE else [], ctx), Moments(ctx, values)
        self.number = [self.numbers.of(value) for value in self.wanted]
        if self.op == "between" and None not in self.number and self.number[0] > self.number[1]:
            self.wanted.reverse()
            self.number.reverse()
        self.span = [span(value, self.moments) for value in self.wanted]
        self.text = [folded(text_of(value).strip()) for value in self.wanted]
        self.dated = any(self.span) and self.op in ("eq", "ne", "lt", "le", "gt", "ge", "between", "in")
        self.no_date = 0
        if self.dated and None in self.number and self.op not in ("eq", "ne", "in"):
            self.no_date = len([value for value in values if not is_empty(value) and not self.is_time(value)])
        self.fits = getattr(self, "is_" + self.op, None) or (lambda value: self.compared(value, self.op, 0))
        if self.op == "regex":
            self.pattern = self.compiled(wanted)

    def is_time(self, value):
        """Whether it can be compared with a date: a moment, a year, a month."""
        year = text_of(value)[:4]
        return self.moments.of(value) is not None or (len(year) == 4 and year.isdigit())

    def many(self, wanted):
        if not isinstance(wanted, list) or (self.op == "between" and len(wanted) != 2):
            need = "two values" if self.op == "between" else "a list of values"
            serve = "due valori" if self.op == "between" else "una lista di valori"
            raise Refused("invalid_args", "The op %s takes %s." % (self.op, need), "L'op %s prende %s." % (self.op, serve))
        return wanted

    def compiled(self, wanted):
        import re

        try:
            return re.compile(text_of(wanted), re.IGNORECASE)
        except (re.error, OverflowError, RecursionError) as error:
            raise Refused("invalid_args", "«%s» is no regular expression: %s." % (wanted, error), "«%s» non è un'espressione regolare: %s." % (wanted, error))

    def compared(self, value, op, at):
        """By number where both are numbers, by moment where both are dates, else by text."""
        if value is None:
            return False
        if self.dated and self.span[at]:
            when = self.moments.of(value)
            if when is not None:
                first, after = self.span[at]
                inside = first <= when < after or when == first
                return {"eq": inside, "lt": when < first, "le": when < after or inside, "gt": when >= after and not inside, "ge": when >= first}[op]
            if op != "eq" and self.number[at] is None and not self.is_time(value):
                return False
        number = self.number[at]
        if number is not None:
            mine = self.numbers.of(value)
            if mine is not None:
                left, right = mine, number
            elif op != "eq":
                return False
            else:
                left, right = folded(text_of(value).strip()), self.text[at]
        else:
            if op != "eq" and isinstance(value, (int, float)):
                return False
            left, right = folded(text_of(value).strip()), self.text[at]
        if op == "eq":
            return left == right
        if op in ("lt", "le"):
            return left < right or (op == "le" and left == right)
        return left > right or (op == "ge" and left == right)

    def is_eq(self, value):
        if isinstance(value, list):
            return any([self.compared(item, "eq", 0) for item in value])
        return is_empty(value) if self.wanted[0] is None else self.compared(value, "eq", 0)

    def is_ne(self, value):
        return not self.is_eq(value)

    def is_between(self, value):
        return self.compared(value, "ge", 0) and self.compared(value, "le", 1)

    def is_in(self, value):
        return any([self.compared(value, "eq", at) for at in range(len(self.wanted))])

    def is_contains(self, value):
        if isinstance(value, list):
            return any([self.is_contains(item) for item in value])
        return value is not None and self.text[0] in folded(text_of(value))

    def is_not_contains(self, value):
        return not self.is_contains(value)

    def is_starts(self, value):
        return value is not None and folded(text_of(value)).startswith(self.text[0])

    def is_ends(self, value):
        return value is not None and folded(text_of(value)).endswith(self.text[0])

    def is_regex(self, value):
        return value is not None and self.pattern.search(text_of(value)) is not None

    def is_exists(self, value):
        return not is_empty(value)

    def is_empty(self, value):
        return is_empty(value)


def test_of(given, entries, names, ctx):
    """(a function entry -> bool for one condition, what is told of how dates were read)."""
    if not isinstance(given, dict) or not isinstance(given.get("field"), str):
        raise Refused("invalid_args", "A condition is {field, op, value}.", "Una condizione è {field, op, value}.")
    if given["field"] != "*":
        take = reader(given["field"], names, ctx, entries)
        condition = Condition(given, [take(entry) for entry in entries], ctx)
        moments = getattr(take, "moments", condition.moments)
        told = {"no_date": condition.no_date, **(moments.doubt() if condition.dated or moments is not condition.moments else {})}
        return lambda entry: condition.fits(take(entry)), told
    searched = [name for name in names if name != "path_b64"]
    condition = Condition(given, [], ctx)
    # «No field holds it» is what is meant by a negative on any field.
    every = all if condition.op in ("ne", "not_contains", "empty") else any
    return lambda entry: every([condition.fits(entry.get(name)) for name in searched]), {}


def filtered(args, ctx):
    entries = list_of_entries(args.get("entries"))
    where = args.get("where")
    if not isinstance(where, list) or not where:
        raise Refused("missing_input", "What to filter by is missing.", "Manca in base a cosa filtrare.")
    names = fields_of(entries)
    read = [test_of(given, entries, names, ctx) for given in where]
    tests = [test for test, _ in read]
    join, keep = any if args.get("any") else all, not args.get("invert")
    if len(tests) == 1:
        kept = [entry for entry in entries if tests[0](entry) == keep]
    else:
        kept = [entry for entry in entries if join([test(entry) for test in tests]) == keep]
    what, shown, sizes = about(entries, names, [given["field"] for given in where if given["field"] != "path"])
    metadata = {"count": len(kept), "total": len(entries), "truncated": False, "of": what, "columns": shown, "sizes": sizes, "timezone": ctx.timezone or "UTC"}
    for _, told in read:
        metadata.update({name: value for name, value in told.items() if value})
    return {"ok": True, "entries": kept, "metadata": metadata}


def run(args, ctx):
    try:
        return filtered(args, ctx)
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
