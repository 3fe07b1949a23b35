"""write_files: plans to write, append to or create files; the new bytes lie in the stage until the core commits them.

Entries of an earlier step become text here: CSV, a Markdown table, JSON, or a list with one entry a line. In all but
JSON, which is for programs, fields are called and values written as a person in that language and time zone does.

It never touches the paths themselves, so it cannot say whether they exist: that is checked when the effects are committed.
"""

MODES = ("overwrite", "append", "create")


class Refused(Exception):
    def __init__(self, error_class, english, italian):
        super().__init__(english)
        self.error_class, self.english, self.italian = error_class, english, italian


def text_of(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, (dict, list)):
        import json

        return json.dumps(value, ensure_ascii=False)
    return str(value)


# What the product's own fields are called, in English and in Italian; sizes are bytes.
CALLED = {
    "path": ("path", "percorso"), "name": ("name", "nome"), "size": ("size", "dimensione"), "kind": ("kind", "genere"),
    "modified": ("modified", "modificato"), "accessed": ("accessed", "aperto"), "created": ("created", "creato"),
    "taken": ("taken", "scattata"), "extension": ("extension", "estensione"), "folder": ("folder", "cartella"),
    "type": ("type", "tipo"), "class": ("class", "classe"), "items": ("items", "elementi"), "group": ("group", "gruppo"),
    "first": ("to keep", "da tenere"), "pid": ("pid", "pid"), "memory": ("memory", "memoria"), "cpu": ("cpu %", "cpu %"),
    "user": ("user", "utente"), "started": ("started", "avviato"), "command": ("command", "comando"),
    "year": ("year", "anno"), "month": ("month", "mese"), "week": ("week", "settimana"), "day": ("day", "giorno"),
    "count": ("count", "quanti"),
}
OPERATIONS = {"sum": ("sum of", "somma di"), "avg": ("average", "media di"), "min": ("least", "minimo di"), "max": ("greatest", "massimo di")}
KINDS = {"file": "file", "dir": "cartella", "link": "collegamento", "folder": "cartella", "picture": "immagine", "document": "documento", "archive": "archivio", "code": "codice", "other": "altro"}
FILES_BY = ("type", "extension", "folder", "year", "month", "week", "day", "kind")
MONTHS = {"en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), "it": "gen feb mar apr mag giu lug ago set ott nov dic".split()}


class Report:
    """How entries stand in a file that a person opens: which fields, what they are called, how values are written.

    Rows of a table keep the names that they have; files, processes and groups have names of the product's own."""

    def __init__(self, entries, columns, form, ctx):
        self.form, self.zone, self.language = form, local_zone(ctx), "it" if ctx.language == "it" else "en"
        names = {}
        for entry in entries:
            names.update(dict.fromkeys(entry))
        self.own = "path" in names or ("pid" in names and "name" in names)
        self.groups = "count" in names and (len(names) == 2 or any(name.partition("_")[0] in OPERATIONS and name != "count" for name in names))
        self.files = "path" in names or (self.groups and any(name in FILES_BY for name in names))
        self.columns = list(columns) if columns else self.shown(entries, names)
        self.sizes = {name for name in names if (self.own and name in ("size", "memory")) or (self.groups and self.files and name in ("sum_size", "avg_size", "min_size", "max_size"))}
        self.places = {}
        for name in self.columns:
            found = [number_text(entry[name]).partition(".")[2] for entry in entries if isinstance(entry.get(name), float)]
            self.places[name] = max([len(decimals) for decimals in found], default=0)

    def shown(self, entries, names):
        """Without what says nothing: a name beside its path, a kind that is always the same, a digest in a report."""
        first = [name for name in ("path", "title", "text", "url") if name in names] + [name for name in ("size", "modified") if name in names and self.own]
        if "pid" in names and "name" in names:
            first = [name for name in ("pid", "name", "memory", "cpu", "user", "started") if name in names]
        left_out = {"path_b64"}
        if "path" in names:
            left_out.add("name")
            if {entry.get("kind") for entry in entries} == {"file"}:
                left_out.add("kind")
            if self.form != "csv":
                left_out.add("sha256")
        if self.groups:
            last = [name for name in names if name == "count" or name.partition("_")[0] in OPERATIONS]
            return [name for name in names if name not in last] + sorted(last, key=lambda name: name != "count")
        return first + [name for name in names if name not in first and name not in left_out]

    def called(self, name):
        """The heading of a column; in CSV the unit stands there, since the values are bare numbers."""
        which = self.language == "it"
        operation, _, field = name.partition("_")
        if self.groups and field and operation in OPERATIONS:
            text = OPERATIONS[operation][which] + " " + (CALLED[field][which] if self.files and field in CALLED else field)
        elif name in CALLED and (self.own or name == "class" or (self.groups and (name == "count" or self.files))):
            text = CALLED[name][which]
        else:
            text = name
        return text + " (byte%s)" % ("" if which else "s") if self.form == "csv" and name in self.sizes else text

    def said(self, name, value):
        """A value as a person reads it; in CSV numbers stay as spreadsheets take them."""
        if isinstance(value, bool):
            return ("sì" if value else "no") if self.language == "it" else ("yes" if value else "no")
        if isinstance(value, str):
            if self.language == "it" and name in ("kind", "type") and (self.own or self.files):
                return KINDS.get(value, value)
            return self.moment(value)
        if self.form == "csv" or not isinstance(value, (int, float)):
            return text_of(value)
        if name in self.sizes:
            return size_said(value, self.language)
        return self.number(name, value)

    def number(self, name, value):
        places = self.places.get(name, 0)
        text = number_text(value)
        if "e" in text or "n" in text or not places:
            return text
        whole, _, decimals = text.partition(".")
        sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
        text = sign + "{:,}".format(int(digits)) + "." + decimals.ljust(places, "0")
        return text.translate({44: ".", 46: ","}) if self.language == "it" else text

    def moment(self, value):
        """A day or a moment in the person's time; a file of columns keeps the order year, month, day."""
        if not 10 <= len(value) <= 35 or value[4] != "-" or not value[:4].isdigit() or (self.form == "csv" and len(value) == 10):
            return value
        from datetime import datetime

        try:
            when = datetime.fromisoformat(value[:19] + "+00:00") if value.endswith("Z") and value[10] == "T" else datetime.fromisoformat(value)
            when = when.astimezone(self.zone) if when.tzinfo else when
        except (ValueError, OverflowError):
            return value
        if self.form == "csv":
            return when.strftime("%Y-%m-%d %H:%M:%S")
        day = "%d %s %d" % (when.day, MONTHS[self.language][when.month - 1], when.year)
        return day if len(value) == 10 else "%s %02d:%02d" % (day, when.hour, when.minute)

    def summary(self, entries):
        """How many files there are and how much they hold, where that is what the entries are."""
        if not self.own or "path" not in self.columns or not entries:
            return ""
        sizes = [entry["size"] for entry in entries if isinstance(entry.get("size"), int) and entry.get("kind", "file") == "file"]
        files = all(entry.get("kind", "file") == "file" for entry in entries)
        what = ("file", "file") if files and self.language == "it" else ("file", "files") if files else ("elemento", "elementi") if self.language == "it" else ("entry", "entries")
        text = "%d %s" % (len(entries), what[len(entries) != 1])
        if sizes:
            text += ", %s %s" % (size_said(sum(sizes), self.language), "in tutto" if self.language == "it" else "in all")
        return "\n%s.\n" % text


def local_zone(ctx):
    from datetime import timezone

    name = getattr(ctx, "timezone", None)
    if not name or name == "UTC":
        return timezone.utc
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return timezone.utc


def number_text(value):
    """At most four decimals: more are noise of the machine."""
    if isinstance(value, int) or value != value or abs(value) >= 1e15 or 0 < abs(value) < 0.001:
        return text_of(value)
    return "{:.4f}".format(value).rstrip("0").rstrip(".")


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


def as_csv(entries, report, delimiter):
    """Rows with a header. A text that a spreadsheet would run as a formula is quoted with an apostrophe before it."""
    import csv
    import io

    def safe(name, value):
        text = report.said(name, value)
        risky = isinstance(value, str) and text[:1] in ("=", "+", "-", "@", "\t", "\r")
        return "'" + text if risky else text

    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow([report.called(name) for name in report.columns])
    writer.writerows([safe(name, entry.get(name)) for name in report.columns] for entry in entries)
    return out.getvalue()


def as_markdown(entries, report):
    def cell(text):
        return text.replace("\\", "\\\\").replace("|", "\\|").replace("\r", "").replace("\n", "<br>")

    columns = report.columns
    lines = ["| " + " | ".join(cell(report.called(name)) for name in columns) + " |", "|" + " --- |" * len(columns)]
    lines.extend("| " + " | ".join(cell(report.said(name, entry.get(name))) for name in columns) + " |" for entry in entries)
    return "\n".join(lines) + "\n" + report.summary(entries)


def as_list(entries, report, columns):
    """One entry a line: its path, its only field, or its fields beside each other."""
    if not columns and "path" in report.columns:
        lines = (text_of(entry.get("path")) for entry in entries)
    else:
        lines = ("\t".join(report.said(name, entry.get(name)) for name in report.columns) for entry in entries)
    return "".join(line.replace("\n", "\\n") + "\n" for line in lines)


def rendered(args, path, ctx):
    entries = args["entries"]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Refused("invalid_args", "The entries are no list of entries.", "Gli elementi non sono una lista di elementi.")
    suffix = path.rsplit(".", 1)[-1].lower() if "." in path.rsplit("/", 1)[-1] else ""
    known = {"csv": "csv", "tsv": "csv", "md": "markdown", "markdown": "markdown", "json": "json"}
    form = args.get("format") or known.get(suffix, "list")
    if form == "json":
        import json

        columns = args.get("columns") or dict.fromkeys(name for entry in entries for name in entry if name != "path_b64")
        return json.dumps([{name: entry.get(name) for name in columns} for entry in entries], ensure_ascii=False, indent=1) + "\n"
    report = Report(entries, args.get("columns"), form, ctx)
    if form == "csv":
        return as_csv(entries, report, "\t" if suffix == "tsv" else ",")
    if form == "markdown":
        return as_markdown(entries, report)
    return as_list(entries, report, args.get("columns"))


def wanted(args, ctx):
    """The (path, content) pairs in the order given."""
    files, path, content = args.get("files"), args.get("path"), args.get("content")
    if "entries" in args:
        if files is not None or content is not None or not isinstance(path, str):
            raise Refused("invalid_args", "Entries take a path and nothing else to write.", "Gli elementi vogliono un path e nient'altro da scrivere.")
        content = rendered(args, path, ctx)
    if files is not None and (path is not None or content is not None):
        raise Refused("invalid_args", "Either path and content or files, not both.", "O path e content o files, non tutti e due.")
    if files is None:
        if path is None:
            raise Refused("missing_input", "Where to write is missing.", "Manca dove scrivere.")
        files = [{"path": path, "content": content}]
    if not isinstance(files, list) or not files:
        raise Refused("missing_input", "There is nothing to write.", "Non c'è niente da scrivere.")
    pairs = []
    for item in files:
        if not isinstance(item, dict) or not isinstance(item.get("path"), str) or not item["path"] or "\0" in item["path"]:
            raise Refused("invalid_args", "A path is missing or is no path.", "Un percorso manca o non è un percorso.")
        if not isinstance(item.get("content"), str):
            raise Refused("missing_input", "What to write is missing.", "Manca cosa scrivere.")
        pairs.append((item["path"], item["content"]))
    return pairs


def check_once_each(pairs, mode):
    """Two contents for one path would leave it to chance which one stays; only appending takes them in order."""
    seen = set()
    for path, _ in pairs:
        if path in seen and mode != "append":
            raise Refused("invalid_args", "%s is named twice." % path, "%s è indicato due volte." % path)
        if path.endswith("/"):
            raise Refused("wrong_type", "%s names a folder, not a file." % path, "%s indica una cartella, non un file." % path)
        seen.add(path)


def as_bytes(content, newline):
    if newline and not content.endswith("\n"):
        content += "\n"
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("invalid_args", "The text holds characters that cannot be written.", "Il testo contiene caratteri che non si possono scrivere.")


def stage(ctx, name, data):
    try:
        with open(ctx.stage + "/" + name, "xb") as file:
            file.write(data)
    except OSError as error:
        raise Refused("operation_failed", "The text could not be staged: %s." % error.strerror, "Il testo non si è potuto preparare: %s." % error.strerror)


def effect_of(mode, path, name):
    effect = {"op": "append" if mode == "append" else "write", "path": path, "from": name}
    if mode != "append":
        effect["if_exists"] = "fail" if mode == "create" else "replace"
    return effect


def run(args, ctx):
    effects, results, total = [], [], 0
    try:
        mode = args.get("mode") or "overwrite"
        if mode not in MODES:
            raise Refused("invalid_args", "mode is overwrite, append or create.", "mode è overwrite, append o create.")
        pairs = wanted(args, ctx)
        check_once_each(pairs, mode)
        for number, (path, content) in enumerate(pairs, 1):
            data = as_bytes(content, bool(args.get("newline")))
            name = "file-%d" % number
            stage(ctx, name, data)
            effects.append(effect_of(mode, path, name))
            results.append({"path": path, "bytes": len(data)})
            total += len(data)
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
    return {
        "ok": True,
        "effects": effects,
        "results": results,
        "ok_count": len(results),
        "fail_count": 0,
        "bytes_written": total,
        "metadata": {"mode": mode, **({"entries": len(args["entries"])} if "entries" in args else {})},
    }
