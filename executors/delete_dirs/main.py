"""delete_dirs: asks for folders to be moved to the trash with all that they hold, or deleted for good, or only where empty.

It never looks at the disk and never deletes anything itself; a file is left to delete_files.
"""


class Refused(Exception):
    def __init__(self, error_class, english, italian):
        super().__init__(english)
        self.error_class, self.english, self.italian = error_class, english, italian


def targets(args):
    """What is to be deleted, once each, in the order given: (path, bytes in base64 or None)."""
    paths, entries = args.get("paths"), args.get("entries")
    if paths is not None and entries is not None:
        raise Refused("invalid_args", "Either paths or entries, not both.", "O paths o entries, non tutti e due.")
    given = [{"path": path} for path in paths or []] if entries is None else entries
    if paths is not None and not given:
        raise Refused("missing_input", "Which folder is missing.", "Manca quale cartella.")
    if not isinstance(given, list):
        raise Refused("missing_input", "Which folder is missing.", "Manca quale cartella.")
    seen = {}
    for item in given:
        path = item.get("path") if isinstance(item, dict) else None
        if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
            raise Refused("invalid_args", "A path is missing or is no path.", "Un percorso manca o non è un percorso.")
        seen[(path.rstrip("/") or "/", item.get("path_b64"))] = None
    return list(seen)


def outermost(found):
    """Without what lies in another of them: it goes with it."""
    kept, last = [], None
    for path, b64 in sorted(found, key=lambda item: item[0] + "/"):
        if last is None or not (path + "/").startswith(last):
            kept.append((path, b64))
            last = path + "/"
    return kept


def run(args, ctx):
    try:
        found = targets(args)
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
    permanent = bool(args.get("permanent"))
    only_empty = bool(args.get("only_empty"))
    # Of empty ones the deepest come first: a folder of nothing but empty folders is empty by then.
    found = sorted(found, key=lambda item: -item[0].count("/")) if only_empty else outermost(found)
    effects = []
    for path, b64 in found:
        effect = {"op": "delete", "path": path, "to": "nothing" if permanent else "trash", "want": "folder"}
        if b64:
            effect["path_b64"] = b64
        if only_empty:
            effect["only_empty"] = True
        effects.append(effect)
    return {"ok": True, "effects": effects, "metadata": {"count": len(effects), "permanent": permanent}}
