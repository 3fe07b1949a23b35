"""filter_lists: what is in either, in both, or only in the first of two lists of entries.

Entries are compared by a field, else by path, by name, or whole; texts by their exact letters.
"""

# More than this in one call is refused; a tenth of it goes through in about a second.
ENTRIES_MAX = 1000000
OPS = ("union", "intersect", "difference")

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

# ---- the same ----


def frozen(value):
    """A key that equal values share: 1 and 1.0 are one number, the order of an object's fields is nothing."""
    if isinstance(value, dict):
        return ("object", tuple([(name, frozen(value[name])) for name in sorted(value)]))
    if isinstance(value, list):
        return ("list", tuple([frozen(item) for item in value]))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return (type(value).__name__, value)
    return ("number", value)


def whole_entry(entry):
    names = sorted(entry)
    values = [entry[name] for name in names]
    if any([isinstance(value, (list, dict, bool)) for value in values]):
        return frozen(entry)
    return (tuple(names), tuple(values))


def judge(key, first, second, ctx):
    """(a function entry -> comparable, by what)."""
    if key is not None:
        if not key.strip():
            raise Refused("invalid_args", "The field to compare by has no name.", "Il campo per cui confrontare non ha nome.")
        takers = [reader(key, fields_of(entries), ctx) for entries in (first, second)]
        return [lambda entry, take=take: None if take(entry) is None else frozen(take(entry)) for take in takers], key
    both = first + second
    if both and all([isinstance(entry.get("path"), str) for entry in both]):
        # Names that are not UTF-8 may look alike: their exact bytes decide.
        return [lambda entry: (entry["path"], entry.get("path_b64"))] * 2, "path"
    if both and all([isinstance(entry.get("name"), str) and "pid" not in entry for entry in both]):
        return [lambda entry: entry["name"]] * 2, "name"
    return [whole_entry] * 2, "value"


def together(op, first, second, of_first, of_second):
    """Each thing once; an entry without the key is the same as no other."""
    in_second = {of_second(entry) for entry in second} - {None}
    kept, seen = [], set()

    def keep(entry, mark):
        if mark is None or mark not in seen:
            seen.add(mark)
            kept.append(entry)

    for entry in first:
        mark = of_first(entry)
        if op == "union" or (mark in in_second) == (op == "intersect"):
            keep(entry, mark)
    if op == "union":
        for entry in second:
            keep(entry, of_second(entry))
    return kept


def joined(args, ctx):
    first, second, op = list_of_entries(args.get("first")), list_of_entries(args.get("second")), args.get("op")
    if op not in OPS:
        raise Refused("invalid_args", "There is no op «%s»; there are: %s." % (op, ", ".join(OPS)), "Non esiste l'op «%s»; ci sono: %s." % (op, ", ".join(OPS)))
    (of_first, of_second), by = judge(args.get("key"), first, second, ctx)
    kept = together(op, first, second, of_first, of_second)
    what, shown, sizes = about(kept, fields_of(kept or first or second))
    metadata = {"count": len(kept), "first": len(first), "second": len(second), "by": by, "op": op, "truncated": False, "of": what}
    metadata.update({"columns": shown, "sizes": sizes, "timezone": ctx.timezone or "UTC"})
    return {"ok": True, "entries": kept, "metadata": metadata}


def run(args, ctx):
    try:
        return joined(args, ctx)
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
