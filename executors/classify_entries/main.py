"""classify_entries: a class for each entry, by rules, or by kind of file, size or age, and how many each class has.

The first rule that fits decides; what fits none is other. It moves and changes nothing.
"""

# More than this in one call is refused; a tenth of it goes through in about a second.
ENTRIES_MAX = 1000000
OPS = ("eq", "ne", "lt", "le", "gt", "ge", "contains", "not_contains", "starts", "ends", "regex", "between", "in", "exists", "empty")
NO_VALUE = ("exists", "empty")
SIZES = (("empty", 0), ("small", 100 * 1000), ("medium", 10 * 1000**2), ("large", 1000**3))
AGES = (("last 7 days", 7), ("last 31 days", 31), ("last 12 months", 366))
ORDER = ["picture", "video", "audio", "document", "archive", "code", "folder", "empty", "small", "medium", "large", "huge", "last 7 days", "last 31 days", "last 12 months", "older"]

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


def reader(asked, names, ctx):
    """A function that takes the field out of an entry, None where it is missing. Every name that means it is tried in turn."""
    wanted = plain(asked)
    found = [name for name in names if name == asked] or [name for name in names if plain(name) == wanted]
    if found:
        return first_of(found)
    base, colon, part = asked.rpartition(":")
    part = CALLED.get(plain(part), "")
    if colon and part in ("year", "month", "day", "week"):
        return part_of(reader(base, names, ctx), part, ctx)
    meant = CALLED.get(wanted)
    found = [name for name in names if meant and CALLED.get(plain(name)) == meant]
    if found:
        return first_of(found)
    computed = derived(meant, names, ctx)
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


def derived(meant, names, ctx):
    """What follows from other fields: parts of the path, of the date."""
    if meant in ("year", "month", "day", "week"):
        dates = [name for name in ("taken", "modified") if name in names] or [name for name in names if CALLED.get(plain(name)) == "modified"]
        return part_of(first_of(dates), meant, ctx) if dates else None
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


def part_of(take, part, ctx):
    """year as a number, month as 2026-03, day as 2026-03-05, week as 2026-W10; in the person's time zone."""
    moments, kept = Moments(ctx), {}

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


class Moments:
    """ISO 8601 days and moments as seconds since 1970; what names no zone is in the person's."""

    def __init__(self, ctx):
        self.zone_name, self.zone, self.kept, self.match = getattr(ctx, "timezone", None), None, {}, None

    def of(self, value):
        if not isinstance(value, str) or len(value) < 10 or len(value) > 40 or value[4] != "-":
            return None
        if value not in self.kept:
            when = self.local(value)
            self.kept[value] = None if when is None else when.timestamp()
        return self.kept[value]

    def local(self, value):
        from datetime import datetime, timedelta, timezone

        if self.match is None:
            import re

            self.match, self.zone = re.compile(ISO_DATE, re.ASCII).fullmatch, self.local_zone()
        found = self.match(value.strip())
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
        self.numbers, self.moments = Numbers(values + listed if self.op not in NO_VALUE else [], ctx), Moments(ctx)
        self.number = [self.numbers.of(value) for value in self.wanted]
        if self.op == "between" and None not in self.number and self.number[0] > self.number[1]:
            self.wanted.reverse()
            self.number.reverse()
        self.span = [span(value, self.moments) for value in self.wanted]
        self.text = [folded(text_of(value).strip()) for value in self.wanted]
        self.dated = any(self.span)
        self.fits = getattr(self, "is_" + self.op, None) or (lambda value: self.compared(value, self.op, 0))
        if self.op == "regex":
            self.pattern = self.compiled(wanted)

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
    """A function entry -> bool for one condition."""
    if not isinstance(given, dict) or not isinstance(given.get("field"), str):
        raise Refused("invalid_args", "A condition is {field, op, value}.", "Una condizione è {field, op, value}.")
    if given["field"] != "*":
        take = reader(given["field"], names, ctx)
        condition = Condition(given, [take(entry) for entry in entries], ctx)
        return lambda entry: condition.fits(take(entry))
    searched = [name for name in names if name != "path_b64"]
    condition = Condition(given, [], ctx)
    # «No field holds it» is what is meant by a negative on any field.
    every = all if condition.op in ("ne", "not_contains", "empty") else any
    return lambda entry: every([condition.fits(entry.get(name)) for name in searched])


# ---- classes ----


def by_rules(rules, entries, names, ctx):
    tests = []
    for rule in rules:
        if not isinstance(rule, dict) or not isinstance(rule.get("label"), str) or not rule.get("where"):
            raise Refused("invalid_args", "A rule is {label, where}.", "Una regola è {label, where}.")
        tests.append((rule["label"], [test_of(given, entries, names, ctx) for given in rule["where"]]))

    def label(entry):
        for name, wanted in tests:
            if all([test(entry) for test in wanted]):
                return name
        return None

    return label


def by_size(entries, names, ctx):
    take = reader("size", names, ctx)
    numbers = Numbers([take(entry) for entry in entries], ctx)

    def label(entry):
        size = numbers.of(take(entry))
        if size is None:
            return None
        for name, most in SIZES:
            if size <= most:
                return name
        return "huge"

    return label


def by_age(entries, names, ctx):
    import time

    take, moments, now = reader("modified", names, ctx), Moments(ctx), time.time()

    def label(entry):
        when = moments.of(take(entry))
        if when is None:
            return None
        for name, days in AGES:
            if now - when <= days * 86400:
                return name
        return "older"

    return label


def labelled(args, entries, names, ctx):
    rules, by = args.get("rules"), args.get("by")
    if rules is None and by is None:
        raise Refused("missing_input", "Rules, or type, size or age to classify by, are missing.", "Mancano le regole, oppure type, size o age.")
    if not entries:
        return lambda entry: None
    if rules is not None:
        return by_rules(rules, entries, names, ctx)
    if by == "type":
        return reader("type", names, ctx)
    if by not in ("size", "age"):
        raise Refused("invalid_args", "by is type, size or age.", "by è type, size o age.")
    return by_size(entries, names, ctx) if by == "size" else by_age(entries, names, ctx)


def classified(args, ctx):
    entries = list_of_entries(args.get("entries"))
    names = fields_of(entries)
    label = labelled(args, entries, names, ctx)
    order = [rule["label"] for rule in args["rules"]] if args.get("rules") else ORDER
    what, shown, sizes = about(entries, names, ["modified"] if args.get("by") == "age" else [])
    marked, counts, bytes_of = [], {}, {}
    for entry in entries:
        name = text_of(label(entry)) or "other"
        counts[name] = counts.get(name, 0) + 1
        for size in sizes:
            if isinstance(entry.get(size), int):
                bytes_of[name] = bytes_of.get(name, 0) + entry[size]
        marked.append({**entry, "class": name})
    found = [name for name in dict.fromkeys(order) if name in counts]
    found += [name for name in counts if name not in found and name != "other"] + [name for name in ("other",) if name in counts and name not in found]
    summary = [{"class": name, "count": counts[name], **({"size": bytes_of.get(name, 0)} if sizes else {})} for name in found]
    metadata = {"count": len(marked), "classes": {name: counts[name] for name in found}, "summary": summary, "truncated": False, "of": what}
    metadata["totals"] = {"count": len(marked), **({"size": sum(bytes_of.values())} if sizes else {})}
    metadata["by"] = "rules" if args.get("rules") is not None else args.get("by")
    metadata.update({"columns": ["class"] + [name for name in shown if name != "class"], "sizes": sizes, "timezone": ctx.timezone or "UTC"})
    return {"ok": True, "entries": marked, "metadata": metadata}


def run(args, ctx):
    try:
        return classified(args, ctx)
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
