"""compare_entries: what differs between two texts, line by line, or between two lists of records, by a key.

It says what was added, removed and changed; what is the better of the two it does not judge.
"""

# More than this in one call is refused; a tenth of it goes through in about a second.
ENTRIES_MAX = 1000000
# Pieces of text up to so many lines are matched line by line; larger ones by the lines that stand once in each.
NEAR = 1000
# The most differences that a reply holds.
SHOWN_MAX = 20000
# Lines of the unified diff around a difference.
AROUND = 3
# Names that say which record is which, tried in turn.
KEYS = ("path", "id", "url", "name", "nome", "code", "codice", "key", "chiave")
# What differs between two files without being a difference of what is in them.
OF_NO_MATTER = ("path", "name", "path_b64", "accessed", "created", "modified")

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

# ---- texts ----


def called(entry, otherwise):
    for name in ("path", "name", "url", "title"):
        if isinstance(entry.get(name), str) and entry[name]:
            return entry[name]
    return otherwise


def lines_of(text):
    """Lines without their ends; the last line counts whether it is ended or not."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines and lines[-1] == "" else lines


def blocks(old, new):
    """[(tag, i1, i2, j1, j2)] of what is equal, replaced, removed or added."""
    found, i, j = [], 0, 0
    for a, b in anchors(old, new) + [(len(old), len(new))]:
        found += between(old[i:a], new[j:b], i, j)
        if a < len(old):
            found.append(("equal", a, a + 1, b, b + 1))
        i, j = a + 1, b + 1
    joined = []
    for tag, i1, i2, j1, j2 in found:
        if joined and (tag == "equal") == (joined[-1][0] == "equal"):
            joined[-1] = (joined[-1][0], joined[-1][1], i2, joined[-1][3], j2)
        else:
            joined.append((tag, i1, i2, j1, j2))
    return joined


def anchors(old, new):
    """Lines that stand once in each text, in an order that both share: the longest such row of them."""
    if len(old) + len(new) <= NEAR:
        return []
    from bisect import bisect_left

    places = {}
    for number, line in enumerate(new):
        places[line] = None if line in places else number
    once = {}
    for number, line in enumerate(old):
        once[line] = None if line in once else number
    pairs = [(number, places[line]) for line, number in once.items() if number is not None and places.get(line) is not None]
    pairs.sort()
    ends, tails, before = [], [], []
    for index, (_, place) in enumerate(pairs):
        at = bisect_left(ends, place)
        before.append(tails[at - 1] if at else None)
        if at == len(ends):
            ends.append(place)
            tails.append(index)
        else:
            ends[at], tails[at] = place, index
    row, index = [], tails[-1] if tails else None
    while index is not None:
        row.append(pairs[index])
        index = before[index]
    return row[::-1]


def between(old, new, i, j):
    """The differences of two pieces; what is too much to match is told as replaced."""
    start, limit = 0, min(len(old), len(new))
    while start < limit and old[start] == new[start]:
        start += 1
    end = 0
    while end < limit - start and old[-1 - end] == new[-1 - end]:
        end += 1
    inner_old, inner_new = old[start : len(old) - end], new[start : len(new) - end]
    found = [("equal", 0, start, 0, start)] if start else []
    if inner_old and inner_new and len(inner_old) + len(inner_new) <= NEAR:
        import difflib

        matched = difflib.SequenceMatcher(None, inner_old, inner_new, autojunk=False).get_opcodes()
        found += [(tag, i1 + start, i2 + start, j1 + start, j2 + start) for tag, i1, i2, j1, j2 in matched]
    elif inner_old or inner_new:
        found.append(("replace", start, len(old) - end, start, len(new) - end))
    if end:
        found.append(("equal", len(old) - end, len(old), len(new) - end, len(new)))
    return [(tag, i1 + i, i2 + i, j1 + j, j2 + j) for tag, i1, i2, j1, j2 in found]


def unified(old, new, found, names):
    """A unified diff: differences with three equal lines around, those near each other in one piece."""
    changes = [block for block in found if block[0] != "equal"]
    lines, at = ["--- " + names[0], "+++ " + names[1]], 0
    while at < len(changes):
        last = at
        while last + 1 < len(changes) and changes[last + 1][1] - changes[last][2] <= 2 * AROUND:
            last += 1
        i1, j1 = max(0, changes[at][1] - AROUND), max(0, changes[at][3] - AROUND)
        i2, j2 = min(len(old), changes[last][2] + AROUND), min(len(new), changes[last][4] + AROUND)
        lines.append("@@ -%s +%s @@" % (span(i1, i2), span(j1, j2)))
        here = i1
        for _, a1, a2, b1, b2 in changes[at : last + 1]:
            lines += [" " + line for line in old[here:a1]] + ["-" + line for line in old[a1:a2]] + ["+" + line for line in new[b1:b2]]
            here = a2
        lines += [" " + line for line in old[here:i2]]
        at = last + 1
    return "\n".join(lines)


def span(first, after):
    count = after - first
    return str(first + 1) if count == 1 else "%d,%d" % (first + 1 if count else first, count)


def compare_texts(one, other):
    old, new = lines_of(one["content"]), lines_of(other["content"])
    names = [called(one, "1"), called(other, "2")]
    found = blocks(old, new)
    entries, added, removed = [], 0, 0
    for tag, i1, i2, j1, j2 in found:
        if tag == "equal":
            continue
        added, removed = added + j2 - j1, removed + i2 - i1
        entries += [{"change": "removed", "line": number + 1, "text": old[number]} for number in range(i1, i2)]
        entries += [{"change": "added", "line": number + 1, "text": new[number]} for number in range(j1, j2)]
    content = unified(old, new, found, names) if entries else ""
    # A text may be cut where it was read: then the same is not proven.
    cut = any([bool(entry.get("truncated")) for entry in (one, other)])
    return entries, content, {"kind": "texts", "added": added, "removed": removed, "changed": 0, "names": names, "truncated": cut}


# ---- records ----


def same(left, right):
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left == right
    return type(left) is type(right) and left == right


def difference_of(old, new, skip=()):
    """{field: [old, new]} of what is not equal; a field that is missing is null."""
    names = [name for name in dict.fromkeys(list(old) + list(new)) if name not in skip]
    return {name: [old.get(name), new.get(name)] for name in names if not same(old.get(name), new.get(name))}


def key_field(args, first, second, ctx):
    names = fields_of(first + second)
    asked = args.get("key")
    if asked is not None:
        return asked, reader(asked, names, ctx)
    for name in KEYS:
        found = [field for field in names if plain(field) == name]
        if found and all([entry.get(found[0]) is not None for entry in first + second]):
            return found[0], first_of(found[:1])
    return None, None


def marks(entries, take):
    """Entries by their key; what shares a key is told apart by its place among them."""
    found, seen = {}, {}
    for entry in entries:
        mark = text_of(take(entry)) if take else text_of({name: entry[name] for name in sorted(entry)})
        seen[mark] = seen.get(mark, 0) + 1
        found[(mark, seen[mark])] = entry
    return found


def compare_records(first, second, args, ctx):
    name, take = key_field(args, first, second, ctx)
    old, new = marks(first, take), marks(second, take)
    entries, lines = [], []
    counts = {"added": 0, "removed": 0, "changed": 0}
    for mark in list(old) + [mark for mark in new if mark not in old]:
        if mark in old and mark in new:
            fields = difference_of(old[mark], new[mark]) if old[mark] != new[mark] else None
            if not fields:
                continue
            change, entry = "changed", new[mark]
        else:
            change, fields = ("removed", None) if mark in old else ("added", None)
            entry = old.get(mark) or new.get(mark)
        counts[change] += 1
        row = {"change": change}
        row.update({name: take(entry)} if name else {})
        row.update({"fields": fields} if fields else {"entry": entry})
        entries.append(row)
        lines.append(line_of(change, mark[0], fields, entry, name))
    return entries, "\n".join(lines), {"kind": "records", "names": ["1", "2"], "key": name, "truncated": False, **counts}


def line_of(change, mark, fields, entry, name):
    sign = {"added": "+", "removed": "-", "changed": "~"}[change]
    if fields is not None:
        return "%s %s: %s" % (sign, mark, "; ".join(["%s %s → %s" % (field, text_of(old) or "–", text_of(new) or "–") for field, (old, new) in fields.items()]))
    rest = ", ".join(["%s %s" % (field, text_of(value)) for field, value in entry.items() if field not in (name, "path_b64") and value is not None])
    return "%s %s%s" % (sign, mark if name else rest, " (%s)" % rest if name and rest else "")


def compare_files(one, other):
    """The data of two files: which differ. Their names and dates do not make them differ."""
    fields = difference_of(one, other, OF_NO_MATTER)
    names = [called(one, "1"), called(other, "2")]
    entries = [{"change": "changed", "field": field, "first": old, "second": new} for field, (old, new) in fields.items()]
    lines = ["~ %s: %s → %s" % (field, text_of(old) or "–", text_of(new) or "–") for field, (old, new) in fields.items()]
    return entries, "\n".join(lines), {"kind": "records", "names": names, "added": 0, "removed": 0, "changed": len(entries), "truncated": False}


# ---- the call ----


def is_text(entries):
    return len(entries) == 1 and isinstance(entries[0].get("content"), str)


def sides(args):
    """(older, newer)."""
    if args.get("entries") is None:
        return list_of_entries(args.get("first")), list_of_entries(args.get("second"))
    given = list_of_entries(args["entries"])
    if args.get("first") is not None or args.get("second") is not None:
        other = args.get("second") if args.get("second") is not None else args["first"]
        return given, list_of_entries(other)
    if len(given) != 2:
        raise Refused(
            "missing_input",
            "Two are needed to compare; there %s %d." % ("is" if len(given) == 1 else "are", len(given)),
            "Per confrontare ne servono due; qui %s %d." % ("ce n'è" if len(given) == 1 else "ce ne sono", len(given)),
        )
    return given[:1], given[1:]


def compared(args, ctx):
    first, second = sides(args)
    if is_text(first) and is_text(second):
        entries, content, metadata = compare_texts(first[0], second[0])
    elif args.get("entries") is not None and len(first) == len(second) == 1 and args.get("key") is None:
        entries, content, metadata = compare_files(first[0], second[0])
    else:
        entries, content, metadata = compare_records(first, second, args, ctx)
    metadata.update({"same": not entries, "count": len(entries)})
    if len(entries) > SHOWN_MAX:
        metadata["truncated"] = True
        entries = entries[:SHOWN_MAX]
    if len(content) > 4000000:
        metadata["truncated"] = True
        content = content[:4000000].rpartition("\n")[0]
    return {"ok": True, "entries": entries, "content": content, "metadata": metadata}


def run(args, ctx):
    try:
        return compared(args, ctx)
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
