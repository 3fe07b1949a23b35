"""write_files: plans to write, append to or create files; the new bytes lie in the stage until the core commits them.

Entries of an earlier step become text here: CSV, a Markdown table, JSON, or a list with one entry a line.

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


def columns_of(entries, columns):
    """The columns to write: those asked for, else every field in the order in which it first appears."""
    if columns:
        return list(columns)
    names = {}
    for entry in entries:
        for name in entry:
            names.setdefault(name, None)
    first = [name for name in ("path", "title", "text", "url") if name in names]
    rest = [name for name in names if name not in first and name != "path_b64" and not (name == "name" and "path" in names)]
    return first + rest


def as_csv(entries, columns, delimiter):
    """Rows with a header. A text that a spreadsheet would run as a formula is quoted with an apostrophe before it."""
    import csv
    import io

    def safe(value):
        text = text_of(value)
        risky = isinstance(value, str) and text[:1] in ("=", "+", "-", "@", "\t", "\r")
        return "'" + text if risky else text

    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([safe(entry.get(name)) for name in columns] for entry in entries)
    return out.getvalue()


def as_markdown(entries, columns):
    def cell(value):
        return text_of(value).replace("\\", "\\\\").replace("|", "\\|").replace("\r", "").replace("\n", "<br>")

    lines = ["| " + " | ".join(cell(name) for name in columns) + " |", "|" + " --- |" * len(columns)]
    lines.extend("| " + " | ".join(cell(entry.get(name)) for name in columns) + " |" for entry in entries)
    return "\n".join(lines) + "\n"


def as_list(entries, columns):
    """One entry a line: its path, its only field, or its fields beside each other."""
    if columns and "path" in columns:
        lines = (text_of(entry.get("path")) for entry in entries)
    else:
        lines = ("\t".join(text_of(entry.get(name)) for name in columns) for entry in entries)
    return "".join(line.replace("\n", "\\n") + "\n" for line in lines)


def rendered(args, path):
    entries = args["entries"]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Refused("invalid_args", "The entries are no list of entries.", "Gli elementi non sono una lista di elementi.")
    suffix = path.rsplit(".", 1)[-1].lower() if "." in path.rsplit("/", 1)[-1] else ""
    known = {"csv": "csv", "tsv": "csv", "md": "markdown", "markdown": "markdown", "json": "json"}
    form = args.get("format") or known.get(suffix, "list")
    columns = columns_of(entries, args.get("columns"))
    if form == "csv":
        return as_csv(entries, columns, "\t" if suffix == "tsv" else ",")
    if form == "markdown":
        return as_markdown(entries, columns)
    if form == "json":
        import json

        return json.dumps([{name: entry.get(name) for name in columns} for entry in entries], ensure_ascii=False, indent=1) + "\n"
    return as_list(entries, columns)


def wanted(args):
    """The (path, content) pairs in the order given."""
    files, path, content = args.get("files"), args.get("path"), args.get("content")
    if "entries" in args:
        if files is not None or content is not None or not isinstance(path, str):
            raise Refused("invalid_args", "Entries take a path and nothing else to write.", "Gli elementi vogliono un path e nient'altro da scrivere.")
        content = rendered(args, path)
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
        pairs = wanted(args)
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
