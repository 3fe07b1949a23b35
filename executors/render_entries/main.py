"""render_entries: entries as an aligned table, a list, a Markdown table, CSV, or a bar chart in SVG.

It writes text only; saving it is another step. CSV cells that a spreadsheet would run as formulas are made harmless.
"""

# More than this in one call is refused; a tenth of it goes through in about a second.
ENTRIES_MAX = 1000000
FORMATS = ("table", "list", "markdown", "csv", "svg")
BARS_MAX = 50
# What the content may have in bytes as the reply writes it.
CONTENT_BYTES = 28 * 1024 * 1024
MARKUP = {**{ord(sign): "\\" + sign for sign in "\\`*_[]|#~"}, ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}

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

# ---- as a person writes it ----

MONTHS = {"en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), "it": "gen feb mar apr mag giu lug ago set ott nov dic".split()}


def number_said(number, language):
    """1,234.5, in Italian 1.234,5; at most four decimals, of a number below one four digits."""
    if isinstance(number, float) and (abs(number) >= 1e18 or (number and abs(number) < 1e-9)):
        return "%.6g" % number
    if isinstance(number, int):
        text = "{:,}".format(number)
    elif abs(number) >= 1:
        text = "{:,.4f}".format(number).rstrip("0").rstrip(".")
    else:
        text = "{:.12f}".format(float("%.4g" % number)).rstrip("0").rstrip(".")
    return text.translate({44: ".", 46: ","}) if language == "it" else text


def size_said(number, language):
    number = round(number)
    if abs(number) < 1000:
        return "%d B" % number
    scaled = number / 1000.0
    for unit in ("kB", "MB", "GB", "TB", "PB", "EB"):
        if abs(scaled) < 999.5 or unit == "EB":
            text = "%.1f" % scaled if abs(scaled) < 99.95 else "%.0f" % scaled
            return (text.replace(".", ",") if language == "it" else text) + " " + unit
        scaled /= 1000.0


def date_said(text, moments, language):
    """5 Mar 2026 14:05; None where it is no date."""
    if moments.of(text) is None:
        return None
    when = moments.local(text)
    day = "%d %s %d" % (when.day, MONTHS["it" if language == "it" else "en"][when.month - 1], when.year)
    return day if len(text.strip()) == 10 else "%s %02d:%02d" % (day, when.hour, when.minute)


def one_line(text):
    """Without signs that would steer a terminal or turn the direction of the text."""
    if text.isprintable():
        return text.strip()
    kept = []
    for sign in text.strip():
        if sign == "\n":
            kept.append("\u21b5")
        elif sign.isprintable() or sign in " \u00a0":
            kept.append(sign)
        elif sign in "\t\u200d":
            kept.append(" " if sign == "\t" else sign)
    return "".join(kept)


def width_of(text):
    if text.isascii() or max(text) < "\u0300":
        return len(text)
    import unicodedata

    return sum([0 if unicodedata.combining(sign) or sign in "\u200d\ufe0f" else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text])


def cut(text, width):
    if width_of(text) <= width:
        return text
    room, kept = width - 1, []
    for sign in text:
        room -= width_of(sign)
        if room < 0:
            break
        kept.append(sign)
    return "".join(kept) + "\u2026"

# ---- table ----

GAP = 2
LEAST = 8
# Whole numbers in columns called so are names, not amounts.
NAMES = "id pid year anno zip cap code codice port porta line riga phone telefono group gruppo".split()


# What the product's own fields are called in Italian.
ITALIAN = {
    "name": "nome", "path": "percorso", "size": "dimensione", "modified": "data di modifica", "kind": "genere", "type": "tipo", "folder": "cartella",
    "extension": "estensione", "memory": "memoria", "user": "utente", "started": "avviato", "command": "comando", "items": "elementi", "taken": "scattata",
}


class Cells:
    """The values of the columns as short texts, and which columns are numbers."""

    def __init__(self, entries, columns, sizes, ctx):
        self.language, self.moments = ctx.language, Moments(ctx)
        self.columns, self.right, self.texts = columns, [], []
        own = ctx.language == "it" and entries and ("path" in entries[0] or "pid" in entries[0] or {"size", "path"} <= set(columns))
        self.heads = [ITALIAN.get(name, name) if own else name for name in columns]
        for name in columns:
            values = [entry.get(name) for entry in entries]
            numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
            texts = self.of_numbers(name, values, numbers, name in sizes)
            filled = [value for value in values if value is not None and value != ""]
            shaped = sum([1 for value in filled if isinstance(value, str) and (self.moments.of(value) is not None or digits_only(value))])
            self.right.append((len(numbers) + shaped) * 2 > len(filled))
            self.texts.append(texts)

    def of_numbers(self, name, values, numbers, size):
        places = max([len(number_said(number, "en").partition(".")[2]) for number in set(numbers) if isinstance(number, float)], default=0)
        named = words_of(name)[-1:] and words_of(name)[-1] in NAMES
        grouped = places > 0 or (not named and any([abs(number) >= 10000 for number in numbers]))
        kept, texts = {}, []
        for value in values:
            if isinstance(value, (str, int, float)):
                key = (value, isinstance(value, bool))
                if key not in kept:
                    kept[key] = self.said(value, places, grouped, size)
                texts.append(kept[key])
            else:
                texts.append(self.said(value, places, grouped, size))
        return texts

    def said(self, value, places, grouped, size):
        if value is None:
            return ""
        if isinstance(value, bool):
            return {("it", True): "sì", ("it", False): "no"}.get((self.language, value), "yes" if value else "no")
        if isinstance(value, (int, float)):
            if size:
                return size_said(value, self.language)
            if isinstance(value, float) and abs(value) >= 1e18:
                return number_said(value, self.language)
            text = ("{:,.%df}" % places).format(value) if grouped else str(value)
            return text.translate({44: ".", 46: ","}) if self.language == "it" and grouped else text
        if isinstance(value, list):
            return ", ".join([self.said(item, 0, False, False) for item in value])
        text = text_of(value)
        return date_said(text, self.moments, self.language) or one_line(text)


def digits_only(text):
    return len(text) < 30 and not set(text) - set("0123456789.,€$£% +-") and not set(text).isdisjoint("0123456789")


def widths_of(cells, width):
    """(widths of the columns that fit, how many do not)."""
    widths = [max([width_of(name)] + [width_of(text) for text in set(texts)]) for name, texts in zip(cells.heads, cells.texts)]
    kept = len(widths)
    while kept > 1 and sum([min(LEAST, each) + GAP for each in widths[:kept]]) - GAP > width:
        kept -= 1
    widths = widths[:kept]
    room = max(kept, width - GAP * (kept - 1))
    while sum(widths) > room:
        # The widest gives way, down to the next widest; among equals text before numbers.
        widest = max(range(kept), key=lambda at: (widths[at], not cells.right[at]))
        others = [widths[at] for at in range(kept) if at != widest]
        widths[widest] = max(room - sum(others), min(max(others, default=0), widths[widest] - 1), 1)
    return widths, len(cells.columns) - kept


def table_lines(cells, count, width):
    """Header, rule and rows; what does not fit is cut with an ellipsis, columns beyond the width are named."""
    widths, left_out = widths_of(cells, width)

    def line(texts):
        padded = []
        for at, each in enumerate(widths):
            text = texts[at]
            wide = width_of(text)
            if wide > each:
                text = cut(text, each)
                wide = width_of(text)
            blanks = " " * (each - wide)
            padded.append(blanks + text if cells.right[at] else text + blanks)
        return (" " * GAP).join(padded).rstrip()

    yield line([one_line(name) for name in cells.heads])
    yield (" " * GAP).join(["-" * each for each in widths])
    for row in zip(*cells.texts[: len(widths)]) if cells.texts else []:
        yield line(row)
    if left_out:
        names = ", ".join([cut(one_line(name), 30) for name in cells.columns[-left_out:][:10]]) + (", \u2026" if left_out > 10 else "")
        english = "[1 more column: %s]" % names if left_out == 1 else "[%d more columns: %s]" % (left_out, names)
        italian = "[un'altra colonna: %s]" % names if left_out == 1 else "[altre %d colonne: %s]" % (left_out, names)
        yield italian if cells.language == "it" else english

# ---- formats ----


def picked(entries, args, ctx):
    """(rows that hold just the columns, the columns, those that are sizes)."""
    names = fields_of(entries)
    what, shown, sizes = about(entries, names)
    asked = args.get("columns")
    if asked is None:
        return entries, shown, sizes
    asked = [asked] if isinstance(asked, str) else asked
    if asked == []:
        # The columns of a table that has none.
        return entries, shown, sizes
    if not isinstance(asked, list) or not all([isinstance(name, str) and name.strip() for name in asked]):
        raise Refused("invalid_args", "columns are names of fields.", "columns sono nomi di campi.")
    takers = [reader(name, names, ctx) for name in asked]
    sizes = [name for name in asked if any([same_field(name, size) for size in sizes])]
    return [{name: take(entry) for name, take in zip(asked, takers)} for entry in entries], asked, sizes


def as_table(rows, columns, sizes, title, width, ctx):
    if title:
        yield one_line(title)
        yield ""
    yield from table_lines(Cells(rows, columns, sizes, ctx), len(rows), width)


def as_list(rows, columns, sizes, title, ctx):
    cells = Cells(rows, columns, sizes, ctx)
    if title:
        yield one_line(title)
        yield ""
    for row in zip(*cells.texts):
        filled = [(name, text) for name, text in zip(columns, row) if text]
        if len(columns) <= 2 or "path" in columns:
            # The name first, what is said of it in brackets.
            last = [text for name, text in filled if name == "path"] or [text for _, text in filled[:1]]
            rest = [text for name, text in filled if text not in last]
            yield "- " + "".join(last[:1]) + (" (%s)" % ", ".join(rest) if rest else "")
        else:
            yield "- " + "; ".join(["%s: %s" % (one_line(name), text) for name, text in filled])


def markdown_cell(text):
    """The cell as it stands: no sign of it is markup. An address keeps its letters, so that it stays a link."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.startswith(("http://", "https://")) and not any([sign in " \n<>\"" for sign in text]):
        return text.replace("\\", "%5C").replace("|", "%7C").replace("`", "%60")
    return "<br>".join([one_line(line) for line in text.translate(MARKUP).split("\n")])


def as_markdown(rows, columns, sizes, title, ctx):
    cells = Cells(rows, columns, sizes, ctx)
    if title:
        yield "# " + markdown_cell(title)
        yield ""
    yield "| " + " | ".join([markdown_cell(name) for name in cells.heads]) + " |"
    yield "| " + " | ".join(["---:" if right else "---" for right in cells.right]) + " |"
    for entry, row in zip(rows, zip(*cells.texts)):
        # Texts keep their line breaks here, which the short form has lost.
        texts = [entry[name] if isinstance(entry.get(name), str) and "\n" in entry[name] else text for name, text in zip(columns, row)]
        yield "| " + " | ".join([markdown_cell(text) for text in texts]) + " |"


def csv_cell(value):
    text = text_of(value)
    if text and isinstance(value, str) and (text[0] in "=@\t\r" or (text[0] in "+-" and not text[1:2].isdigit()) or (text[0] in "+-" and not set(text[1:]) <= set("0123456789.,eE "))):
        text = "'" + text
    if any([sign in text for sign in ",\"\n\r"]) or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def as_csv(rows, columns):
    yield ",".join([csv_cell(name) for name in columns])
    for row in rows:
        yield ",".join([csv_cell(row.get(name)) for name in columns])


def xml(text):
    return one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def as_svg(rows, columns, sizes, title, ctx):
    """A horizontal bar for each row: the first column with numbers, named by the first column without."""
    numbers = {name: Numbers([row.get(name) for row in rows], ctx) for name in columns}
    counted = {name: sum([numbers[name].of(row.get(name)) is not None for row in rows]) for name in columns}
    named = [name for name in columns if words_of(name)[-1:] and words_of(name)[-1] in NAMES]
    measure = [name for name in columns if counted[name] * 2 > len(rows) and name not in named] or [name for name in columns if counted[name]]
    if not measure:
        raise Refused("unparseable", "No column holds numbers to draw.", "Nessuna colonna contiene numeri da disegnare.")
    measure = measure[0]
    label = ([name for name in columns if name != measure and counted[name] * 2 <= len(rows)] or [name for name in columns if name != measure] or [measure])[0]
    shown = [row for row in rows if numbers[measure].of(row.get(measure)) is not None][:BARS_MAX]
    values = [numbers[measure].of(row.get(measure)) for row in shown]
    low, high = min(values + [0]), max(values + [0])
    scale = 420.0 / (high - low or 1)
    zero, top = 220 - low * scale, 44 if title else 14
    height = top + 24 * len(shown) + 10
    said = (lambda value: size_said(value, ctx.language)) if measure in sizes else (lambda value: number_said(value, ctx.language))
    named_by = Cells(shown, [label], sizes, ctx).texts[0]
    lines = ['<svg xmlns="http://www.w3.org/2000/svg" width="760" height="%d" viewBox="0 0 760 %d" font-family="sans-serif" font-size="13">' % (height, height)]
    lines.append('<rect width="760" height="%d" fill="#ffffff"/>' % height)
    lines.append("<title>%s</title>" % xml(title or "%s: %s" % (label, measure)))
    if title:
        lines.append('<text x="14" y="26" font-size="16" fill="#222222">%s</text>' % xml(cut(one_line(title), 90)))
    for index, (value, name) in enumerate(zip(values, named_by)):
        y, x, length = top + 24 * index, zero + min(value, 0) * scale, abs(value) * scale
        lines.append('<text x="210" y="%d" text-anchor="end" fill="#222222">%s</text>' % (y + 15, xml(cut(name, 28))))
        lines.append('<rect x="%.1f" y="%d" width="%.1f" height="18" fill="%s"/>' % (x, y, length, "#4a78b5" if value >= 0 else "#b5584a"))
        lines.append('<text x="%.1f" y="%d" fill="#444444">%s</text>' % (max(x + length, zero) + 6, y + 15, xml(said(value))))
    lines.append('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#888888"/>' % (zero, top - 4, zero, height - 8))
    lines.append("</svg>")
    return lines, len(shown), [label, measure]


def fitting_lines(lines):
    """The lines that a reply can hold."""
    kept, room = [], CONTENT_BYTES
    for line in lines:
        room -= len(line) + 2 if line.isascii() and line.isprintable() and '"' not in line and "\\" not in line else 6 * len(line) + 2
        if room < 0:
            break
        kept.append(line)
    return kept


def rendered(args, ctx):
    entries, form = list_of_entries(args.get("entries")), args.get("format") or "table"
    if form not in FORMATS:
        raise Refused("invalid_args", "There is no format «%s»; there are: %s." % (form, ", ".join(FORMATS)), "Non esiste il formato «%s»; ci sono: %s." % (form, ", ".join(FORMATS)))
    title, width = args.get("title") or "", args.get("width") or 100
    rows, columns, sizes = picked(entries, args, ctx)
    metadata = {"count": len(rows), "shown": len(rows), "columns": columns, "format": form, "truncated": False}
    if not rows and (not columns or form not in ("csv", "markdown")):
        content = "La lista è vuota." if ctx.language == "it" else "The list is empty."
        return {"ok": True, "content": (title + "\n\n" if title else "") + content, "metadata": metadata}
    if form == "svg":
        lines, shown, columns = as_svg(rows, columns, sizes, title, ctx)
        metadata.update({"shown": shown, "columns": columns, "truncated": shown < len(rows)})
        return {"ok": True, "content": "\n".join(lines) + "\n", "metadata": metadata}
    made = {
        "table": lambda: as_table(rows, columns, sizes, title, width, ctx),
        "list": lambda: as_list(rows, columns, sizes, title, ctx),
        "markdown": lambda: as_markdown(rows, columns, sizes, title, ctx),
        "csv": lambda: as_csv(rows, columns),
    }[form]
    wanted = list(made())
    lines = fitting_lines(wanted)
    if len(lines) < len(wanted):
        metadata.update({"shown": max(0, len(rows) - (len(wanted) - len(lines))), "truncated": True})
    return {"ok": True, "content": "\n".join(lines) + "\n", "metadata": metadata}


def run(args, ctx):
    try:
        return rendered(args, ctx)
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
