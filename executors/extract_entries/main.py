"""extract_entries: values out of a text or entries, by field name, pattern, JSON path or regular form.

Pure: it opens nothing. A field is found in JSON at any depth, or in `name: value` lines; a form (UUID, address, …) is
found wherever it stands. It does not understand prose.
"""

FORMS = ("uuid", "email", "url", "number", "date", "ip", "phone")
# What they are called when there are none.
CALLED = {
    "uuid": ("UUIDs", "UUID"), "email": ("email addresses", "indirizzi email"), "url": ("web addresses", "indirizzi web"), "number": ("numbers", "numeri"),
    "date": ("dates", "date"), "ip": ("IP addresses", "indirizzi IP"), "phone": ("phone numbers", "numeri di telefono"),
}
# Forms of which one value twice says nothing new.
UNIQUE_FORMS = ("uuid", "email", "url", "ip", "phone")
RESULTS_MAX = 100000
REPLY_BYTES = 15 * 1024 * 1024
PATTERN_MAX = 2000
DEPTH_MAX = 200
RESERVE_S = 0.5


class Refused(Exception):
    def __init__(self, error_class, english, italian):
        super().__init__(english)
        self.error_class, self.english, self.italian = error_class, english, italian


# ---- what is looked through ----


class Source:
    """A text or entries, as JSON where they are JSON."""

    def __init__(self, args):
        content, entries = args.get("content"), args.get("entries")
        if (content is None) == (entries is None):
            raise Refused("missing_input", "Either content or entries is needed.", "Serve o content o entries.")
        self.text = content if isinstance(content, str) else None
        self.rows = entries if isinstance(entries, list) else None
        self.is_json, self.value = True, entries if entries is not None else content
        if self.text is not None:
            self.is_json, self.value = json_of(self.text)

    def everything(self):
        """All text, for a search by form or pattern: JSON without its quoting, keys included."""
        if self.rows is not None:
            return "\n".join([row_text(row) for row in self.rows])
        if self.is_json and isinstance(self.value, (dict, list)):
            return "\n".join(leaves(self.value))
        return self.text if self.text is not None else as_text(self.value)


def json_of(text):
    """(whether it is JSON, its value): one value, or one object a line."""
    import json

    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start not in ("{", "[", '"'):
        return False, None
    try:
        return True, json.loads(text.lstrip("\ufeff"), parse_int=whole, parse_float=real, parse_constant=str)
    except (ValueError, RecursionError):
        pass
    try:
        rows = [json.loads(line, parse_int=whole, parse_float=real, parse_constant=str) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError):
        return False, None
    return all(isinstance(row, (dict, list)) for row in rows), rows


def whole(digits):
    """A number that the reply can carry, or its digits as text."""
    if len(digits) > 20:
        return digits
    value = int(digits)
    return value if -(1 << 63) <= value < 1 << 64 else digits


def real(digits):
    value = float(digits)
    return digits if value in (float("inf"), float("-inf")) else value


def row_text(row):
    """The text of an entry where it carries one; else all that it holds."""
    if isinstance(row, dict):
        for key in ("content", "text"):
            if isinstance(row.get(key), str):
                is_json, value = json_of(row[key])
                return "\n".join(leaves(value)) if is_json else row[key]
    return "\n".join(leaves(row))


def leaves(value):
    """Keys and values as texts, in the order of the document."""
    found, stack = [], [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            for key, inner in reversed(list(item.items())):
                stack.append(inner)
                stack.append(key)
        elif isinstance(item, list):
            stack.extend(reversed(item))
        elif item is not None and not isinstance(item, bool):
            found.append(item if isinstance(item, str) else as_text(item))
    return found


def as_text(value):
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False)


# ---- fields ----


def folded(name):
    """Names are the same whatever their capitals, hyphens, underscores and spaces."""
    return name.casefold().replace("-", "").replace("_", "").replace(" ", "")


def nearest(value, field):
    """[(place of the object that holds it, value)] for the best matches: exact names first, then nearest to the root."""
    wanted, best, rank = folded(field), [], None
    level, depth = [((), value)], 0
    while level and depth < DEPTH_MAX:
        below = []
        for place, item in level:
            if isinstance(item, dict):
                for key, inner in item.items():
                    if folded(key) == wanted:
                        mine = (key != field, depth)
                        if rank is None or mine < rank:
                            best, rank = [], mine
                        if mine == rank:
                            best.append((place, inner))
                    if isinstance(inner, (dict, list)):
                        below.append((place + (key,), inner))
            elif isinstance(item, list):
                below.extend((place + (index,), inner) for index, inner in enumerate(item) if isinstance(inner, (dict, list)))
        if rank is not None and not rank[0]:
            break
        level, depth = below, depth + 1
    return best


def by_fields(value, fields):
    """One entry for each object that holds some of the fields; one in all where each field stands once."""
    found = {field: nearest(value, field) for field in fields}
    if all(len(matches) <= 1 for matches in found.values()):
        single = {field: matches[0][1] for field, matches in found.items() if matches}
        return [single] if single else []
    rows = {}
    for field in fields:
        for place, inner in found[field]:
            rows.setdefault(place, {})[field] = inner
    return list(rows.values())


def by_fields_in_rows(rows, fields):
    """For each entry what it holds; an entry's own text counts where it is JSON or `name: value` lines."""
    entries = []
    for row in rows:
        found = by_fields(row, fields)
        if not found and isinstance(row, dict):
            text = next((row[key] for key in ("content", "text") if isinstance(row.get(key), str)), None)
            if text is not None:
                is_json, value = json_of(text)
                found = by_fields(value, fields) if is_json else by_lines(text, fields)
        entries.extend(found)
    return entries


def by_lines(text, fields):
    """Fields of a text with `name: value` or `name = value` lines; the first of each name."""
    found = {}
    wanted = {folded(field): field for field in fields}
    for line in text.split("\n"):
        cut = min((at for at in (line.find(":"), line.find("=")) if at > 0), default=-1)
        # A name is short; anything longer before the sign is prose.
        if 0 < cut <= 80:
            field = wanted.get(folded(line[:cut].strip(" \t\"'-*#")))
            value = line[cut + 1 :].strip().strip("\"'")
            if field is not None and value:
                found.setdefault(field, value)
    return [{field: found[field] for field in fields if field in found}] if found else []


# ---- JSON path ----


def path_steps(path):
    """Steps of a JSON path: (kind, value, also below); kinds are name, index, slice and all."""
    import re

    token = re.compile(
        r"(?P<deep>\.\.)?(?:\.?(?P<name>[^.\[\]\s'\"*$]+)|\.?(?P<all>\*)"
        r"|\[(?:(?P<index>-?\d{1,9})|(?P<slice>-?\d{0,9}:-?\d{0,9})|(?P<any>\*)|'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\")\])"
    )
    at = 1 if path.startswith("$") else 0
    steps = []
    while at < len(path):
        match = token.match(path, at)
        if match is None or match.end() == at:
            raise Refused(
                "invalid_args", "The JSON path is not understood from «%s» on." % path[at:], "Il percorso JSON non si capisce da «%s» in poi." % path[at:]
            )
        at = match.end()
        deep = match["deep"] is not None
        name = next((match[key] for key in ("name", "single", "double") if match[key] is not None), None)
        if name is not None:
            steps.append(("name", name, deep))
        elif match["index"] is not None:
            steps.append(("index", int(match["index"]), deep))
        elif match["slice"] is not None:
            start, end = match["slice"].split(":")
            steps.append(("slice", slice(int(start) if start else None, int(end) if end else None), deep))
        else:
            steps.append(("all", None, deep))
    return steps


def below(values):
    """The values and all that they hold, parents first."""
    found, stack = [], list(reversed(values))
    while stack:
        item = stack.pop()
        found.append(item)
        inner = list(item.values()) if isinstance(item, dict) else item if isinstance(item, list) else []
        stack.extend(reversed(inner))
    return found


def take(item, kind, key):
    if kind == "name":
        return [item[key]] if isinstance(item, dict) and key in item else []
    if kind == "all":
        return list(item.values()) if isinstance(item, dict) else list(item) if isinstance(item, list) else []
    if not isinstance(item, list):
        return []
    if kind == "slice":
        return item[key]
    return [item[key]] if -len(item) <= key < len(item) else []


def by_json_path(value, path):
    values = [value]
    name = "value"
    for kind, key, deep in path_steps(path):
        name = key if kind == "name" else name
        values = [inner for item in (below(values) if deep else values) for inner in take(item, kind, key)]
    return [{name: inner} for inner in values]


# ---- patterns and forms ----


def by_pattern(text, pattern, field, ctx):
    import re

    if len(pattern) > PATTERN_MAX:
        raise Refused("invalid_args", "The pattern is too long.", "Lo schema è troppo lungo.")
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise Refused("invalid_args", "The pattern is wrong: %s." % error, "Lo schema è sbagliato: %s." % error)
    group = 1 if compiled.groups else 0
    entries = []
    for match in compiled.finditer(text):
        if match[group]:
            entries.append({field: match[group]})
        if len(entries) > RESULTS_MAX or (len(entries) % 1024 == 1023 and ctx.remaining() < RESERVE_S):
            break
    return entries


MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    "|gen(?:naio)?|febbraio|marzo|aprile|mag(?:gio)?|giu(?:gno)?|lug(?:lio)?|ago(?:sto)?|set(?:tembre)?|ott(?:obre)?|novembre|dic(?:embre)?"
)
# Each starts only where no like character stands before it, so that a search stays linear.
SHAPES = {
    "uuid": r"(?<![0-9A-Za-z-])[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}(?![0-9A-Za-z-])",
    "email": r"(?<![\w.%+'-])[\w%+'-](?:[\w.%+'-]{0,62}[\w%+-])?@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24}(?![\w-])",
    "url": r"(?i)(?<![a-z0-9+.-])(?:https?|ftp)://[^\s<>\"'`{}|\\^]{1,4000}",
    "number": r"(?<![\w.,:/-])[-+\u2212]?\d{1,400}(?:[.,]\d{1,400}){0,40}(?:[eE][-+]?\d{1,3})?(?![\w:/-]|[.,]\d)",
    "date": (
        r"(?i)(?<![\w./-])(?:\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
        r"|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})|\d{1,2}\.\d{1,2}\.\d{4}|\d{1,2}-\d{1,2}-\d{4}"
        r"|\d{1,2}(?:st|nd|rd|th|\u00ba|\u00b0)?\.? (?:of |di )?(?:" + MONTHS + r")\.?,? \d{4}|(?:" + MONTHS + r")\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4})(?![\w/-])"
    ),
    "ip": r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}(?![\w:-]|\.\d)|[0-9A-Fa-f:]{2,39}(?:\.\d{1,3}){0,3}(?![\w:]))",
    "phone": r"(?<![\w+./:-])(?:\+|00)?[(]?\d[\d ()./\u2011-]{4,24}\d(?![\w/:-])",
}


def by_form(text, form, field, ctx):
    import re

    kept, seen = [], set()
    for count, match in enumerate(re.compile(SHAPES[form]).finditer(text)):
        value = CHECKS[form](match[0], ctx) if form in CHECKS else match[0]
        if value is not None and not (form in UNIQUE_FORMS and value in seen):
            seen.add(value)
            kept.append(({field: value}, match[0]))
        if len(kept) > RESULTS_MAX or (count % 1024 == 1023 and ctx.remaining() < RESERVE_S):
            break
    return kept


def checked_url(text, ctx):
    """Without the punctuation of the sentence around it; a closing bracket stays where it was opened inside."""
    while text and text[-1] in ".,;:!?)]*_":
        if text[-1] == ")" and text.count("(") >= text.count(")"):
            break
        text = text[:-1]
    return text if len(text.split("://", 1)[-1]) > 0 else None


def checked_number(text, ctx):
    """The value as the signs say: with both, the last is the decimal one; with one, by the person's language."""
    digits = text.replace("\u2212", "-").lstrip("+")
    body, _, exponent = digits.lower().partition("e")
    commas, dots = body.count(","), body.count(".")
    thousands = None
    if commas and dots:
        thousands = "," if body.rfind(".") > body.rfind(",") else "."
    elif commas + dots > 1:
        thousands = "," if commas else "."
    elif commas + dots == 1:
        sign = "," if commas else "."
        three = len(body.split(sign)[1]) == 3 and len(body.split(sign)[0].lstrip("-")) <= 3 and not body.lstrip("-").startswith("0")
        thousands = sign if three and sign == "," and ctx.language != "it" else None
    if thousands:
        groups = body.split("." if thousands == "," else ",")[0].lstrip("-").split(thousands)
        if body.count("." if thousands == "," else ",") > 1 or not 1 <= len(groups[0]) <= 3 or any(len(group) != 3 for group in groups[1:]):
            return None
        body = body.replace(thousands, "")
    body = body.replace(",", ".")
    if "." in body or exponent:
        return real(body + ("e" + exponent if exponent else ""))
    return whole(body)


def checked_date(text, ctx):
    import re

    parts = [int(part) for part in re.findall(r"\d+", text)[:3]]
    if re.match(r"\d{4}[-/]", text):
        _, month, day = parts
        return text if 1 <= month <= 12 and 1 <= day <= 31 else None
    if re.match(r"\d{1,2}[-/.]\d", text):
        low, high = sorted(parts[:2])
        return text if 1 <= low <= 12 and high <= 31 else None
    return text if 1 <= parts[0] <= 31 else None


def checked_ip(text, ctx):
    import ipaddress

    try:
        ipaddress.ip_address(text)
    except ValueError:
        return None
    return text if text != "::" else None


def checked_phone(text, ctx):
    """What is dialled: enough digits, and a sign that it is no other number (a prefix, or groups)."""
    text = text.strip()
    digits = [sign for sign in text if sign.isdigit()]
    if not 6 <= len(digits) <= 15 or checked_form("date", text, ctx) or checked_form("ip", text, ctx):
        return None
    groups = [group for group in text.replace("(", " ").replace(")", " ").replace("-", " ").replace("/", " ").replace(".", " ").split() if group]
    prefixed = text.startswith(("+", "0", "(")) or (text.startswith("3") and len(digits) in (9, 10))
    return text if prefixed or (len(groups) >= 3 and len(digits) >= 7) else None


def checked_form(form, text, ctx):
    import re

    return re.fullmatch(SHAPES[form], text) is not None and CHECKS[form](text, ctx) is not None


CHECKS = {"url": checked_url, "number": checked_number, "date": checked_date, "ip": checked_ip, "phone": checked_phone}


# ---- the call ----


def found_by(source, args, ctx):
    """(entries, their texts, by what they were found)."""
    fields, pattern, path, form = args.get("fields"), args.get("pattern"), args.get("json_path"), args.get("form")
    if sum(1 for way in (fields, pattern, path) if way) > 1 or not (fields or pattern or path or form):
        raise Refused("invalid_args", "One of fields, pattern, json_path or form is needed.", "Serve uno tra fields, pattern, json_path e form.")
    if form is not None and form not in FORMS:
        raise Refused("invalid_args", "There is no form «%s»." % form, "Non esiste la forma «%s»." % form)
    name = fields[0] if fields and len(fields) == 1 else None
    if path:
        if not source.is_json:
            raise Refused("unparseable", "The text is no JSON.", "Il testo non è JSON.")
        return by_json_path(source.value, path), None, "json_path"
    if pattern:
        return by_pattern(source.everything(), pattern, "match", ctx), None, "pattern"
    if fields:
        if source.rows is not None:
            entries = by_fields_in_rows(source.rows, fields)
        else:
            entries = by_fields(source.value, fields) if source.is_json else by_lines(source.text, fields)
        if entries or not form:
            return entries, None, "field"
    kept = by_form(source.everything(), form, name or form, ctx)
    return [entry for entry, _ in kept], [text for _, text in kept] if form == "number" else None, "form"


def looked_for(args):
    parts = list(args.get("fields") or [])
    parts += [str(args[key]) for key in ("pattern", "json_path", "form") if args.get(key)]
    return ", ".join(parts)


def run(args, ctx):
    import json

    try:
        source = Source(args)
        entries, texts, way = found_by(source, args, ctx)
        if not entries:
            what = looked_for(args)
            if what in CALLED:
                raise Refused("not_found", "There are no %s in it." % CALLED[what][0], "Non ci sono %s." % CALLED[what][1])
            raise Refused("not_found", "Nothing was found for «%s»." % what, "Non è stato trovato nulla per «%s»." % what)
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
    kept, lines, room = [], [], REPLY_BYTES
    for index, entry in enumerate(entries[:RESULTS_MAX]):
        line = "\n".join([as_text(value) for value in entry.values()]) if texts is None else texts[index]
        room -= len(json.dumps(entry)) + len(json.dumps(line))
        if room < 0:
            break
        kept.append(entry)
        lines.append(line)
    if not kept:
        message = "Ciò che è stato trovato è troppo per una risposta." if ctx.language == "it" else "What was found is too much for one answer."
        return {"ok": False, "error_class": "too_large", "error": message}
    metadata = {"count": len(kept), "by": way, "truncated": len(kept) < len(entries)}
    missing = [field for field in args.get("fields") or [] if way == "field" and not any(field in entry for entry in entries)]
    if missing:
        metadata["missing"] = missing
    return {"ok": True, "entries": kept, "content": "\n".join(lines), "metadata": metadata}
