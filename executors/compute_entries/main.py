"""compute_entries: one number over a field of the entries: sum, average, least, greatest, count, median, range.

What is no number is left out and counted; it never passes for zero.
"""

# More than this in one call is refused; a tenth of it goes through in about a second.
ENTRIES_MAX = 1000000
OPS = ("sum", "avg", "min", "max", "count", "median", "range")

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

# ---- the number ----


def added(values):
    """The sum, exact in decimal digits: 0.1 and 0.2 are 0.3."""
    if not any([isinstance(value, float) for value in values]):
        return fitting(sum(values))
    from decimal import Decimal

    return fitting(float(sum([Decimal(repr(value)) for value in values])))


def shared(total, count):
    """The average, in decimal digits too: 0.3 by 3 is 0.1."""
    if isinstance(total, float):
        from decimal import Decimal

        return settled(float(Decimal(repr(total)) / count))
    return settled(total / count)


def settled(value):
    """2.0 is 2."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def fitting(value):
    if isinstance(value, int) and abs(value) >= 2**63:
        value = float(value)
    if value in (float("inf"), float("-inf")):
        raise Refused("too_large", "The sum is larger than any number.", "La somma è più grande di ogni numero.")
    return value


# Numbers in fields called so are names or ranks: what is asked for is hardly their sum.
NO_AMOUNTS = set("id pid year anno month mese day giorno zip cap code codice line riga number numero count phone telefono port porta".split())


def holds_numbers(entries, name, ctx):
    values = [entry.get(name) for entry in entries[:1000]]
    numbers = Numbers(values, ctx)
    there = [value for value in values if value is not None and value != ""]
    return bool(there) and sum([numbers.of(value) is not None for value in there]) * 2 > len(there)


def only_numeric(entries, names, ctx):
    """The one field that holds numbers, where it can be but one."""
    if "size" in names and "path" in names:
        return "size"
    found = [name for name in names if holds_numbers(entries, name, ctx)]
    amounts = [name for name in found if not {plain(word) for word in name.replace("_", " ").split()} & NO_AMOUNTS]
    if len(found) == 1 or len(amounts) == 1:
        return (amounts or found)[0]
    listed = ", ".join(found[:30])
    if found:
        raise Refused("missing_input", "Which field to compute is missing; these hold numbers: %s." % listed, "Manca il campo da calcolare; questi contengono numeri: %s." % listed)
    raise Refused("missing_input", "Which field to compute is missing, and none holds numbers.", "Manca il campo da calcolare, e nessuno contiene numeri.")


def median_of(numbers):
    ordered, middle = sorted(numbers), len(numbers) // 2
    return ordered[middle] if len(ordered) % 2 else shared(added([ordered[middle - 1], ordered[middle]]), 2)


def of_numbers(op, numbers):
    if op == "sum":
        return added(numbers)
    if op == "avg":
        return shared(added(numbers), len(numbers))
    if op == "median":
        return median_of(numbers)
    if op == "range":
        return added([max(numbers), -min(numbers)])
    return min(numbers) if op == "min" else max(numbers)


def read_values(entries, take, op, ctx):
    """([(number, value, entry)], how dates were read): numbers where there are any, else dates where they can be compared."""
    values = [take(entry) for entry in entries]
    numbers = Numbers(values, ctx)
    found = [(number, value, entry) for number, value, entry in zip(map(numbers.of, values), values, entries) if number is not None]
    if found or op not in ("min", "max", "range", "median"):
        return found, None
    moments = Moments(ctx, values)
    return [(when, value, entry) for when, value, entry in zip(map(moments.of, values), values, entries) if when is not None], moments


def computed(args, ctx):
    entries = list_of_entries(args.get("entries"))
    op, key = args.get("op"), args.get("key")
    if op not in OPS:
        raise Refused("invalid_args", "There is no op «%s»; there are: %s." % (op, ", ".join(OPS)), "Non esiste l'op «%s»; ci sono: %s." % (op, ", ".join(OPS)))
    names = fields_of(entries)
    what, shown, sizes = about(entries, names, [key] if key else [])
    metadata = {"op": op, "key": key, "count": len(entries), "skipped": 0, "truncated": False, "of": what, "timezone": ctx.timezone or "UTC"}
    metadata.update({"columns": shown, "sizes": sizes})
    if op == "count" or not entries:
        return counted(entries, op, key, names, metadata, ctx)
    if key is None:
        key = metadata["key"] = only_numeric(entries, names, ctx)
    found, moments = read_values(entries, reader(key, names, ctx, entries), op, ctx)
    unit = "date" if moments else None
    if not found:
        numeric = ", ".join([name for name in names if name != key and holds_numbers(entries, name, ctx)][:10])
        english, italian = ("; numbers are in: %s." % numeric, "; ci sono numeri in: %s." % numeric) if numeric else (", and no other field holds numbers.", ", e nessun altro campo contiene numeri.")
        if len(entries) == 1:
            raise Refused("unparseable", "The only value of «%s» is no number%s" % (key, english), "L'unico valore di «%s» non è un numero%s" % (key, italian))
        raise Refused("unparseable", "None of the %d values of «%s» is a number%s" % (len(entries), key, english), "Nessuno dei %d valori di «%s» è un numero%s" % (len(entries), key, italian))
    metadata.update({"count": len(found), "skipped": len(entries) - len(found)})
    if any([CALLED.get(plain(key), plain(key)) == size for size in sizes]):
        unit = "bytes"
    metadata.update(moments.doubt() if moments else {})
    if unit == "date" and op == "range":
        unit = "days"
        value = settled(round(of_numbers("range", [when for when, _, _ in found]) / 86400, 2))
    elif unit == "date":
        wanted = median_low([when for when, _, _ in found]) if op == "median" else of_numbers(op, [when for when, _, _ in found])
        value = [text for when, text, _ in found if when == wanted][0]
    else:
        value = settled(of_numbers(op, [number for number, _, _ in found]))
    if unit:
        metadata["unit"] = unit
    held = []
    if op in ("min", "max"):
        best = of_numbers(op, [number for number, _, _ in found])
        held = [entry for number, _, entry in found if number == best]
    return {"ok": True, "value": value, "entries": held, "content": text_of(value), "metadata": metadata}


def median_low(numbers):
    return sorted(numbers)[(len(numbers) - 1) // 2]


def counted(entries, op, key, names, metadata, ctx):
    """How many there are, or how many have the field; of nothing there is a sum, and no other number."""
    if op == "count" and key is not None:
        take = reader(key, names, ctx)
        there = len([entry for entry in entries if take(entry) not in (None, "")])
        metadata.update({"count": there, "skipped": len(entries) - there})
        return {"ok": True, "value": there, "entries": [], "content": str(there), "metadata": metadata}
    value = len(entries) if op == "count" else 0 if op == "sum" else None
    return {"ok": True, "value": value, "entries": [], "content": text_of(value), "metadata": metadata}


def run(args, ctx):
    try:
        return computed(args, ctx)
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
