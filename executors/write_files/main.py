"""write_files: plans to write, append to or create files; the new bytes lie in the stage until the core commits them.

It never touches the paths themselves, so it cannot say whether they exist: that is checked when the effects are committed.
"""

MODES = ("overwrite", "append", "create")


class Refused(Exception):
    def __init__(self, error_class, english, italian):
        super().__init__(english)
        self.error_class, self.english, self.italian = error_class, english, italian


def wanted(args):
    """The (path, content) pairs in the order given."""
    files, path, content = args.get("files"), args.get("path"), args.get("content")
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
        "metadata": {"mode": mode},
    }
