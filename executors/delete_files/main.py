"""delete_files: asks for files to be moved to the trash, or deleted for good; the core does it and takes it back.

It never looks at the disk and never deletes anything itself; a folder is left to delete_dirs.
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
        raise Refused("missing_input", "Which files is missing.", "Manca quali file.")
    if not isinstance(given, list):
        raise Refused("missing_input", "Which files is missing.", "Manca quali file.")
    seen = {}
    for item in given:
        path = item.get("path") if isinstance(item, dict) else None
        if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
            raise Refused("invalid_args", "A path is missing or is no path.", "Un percorso manca o non è un percorso.")
        seen[(path.rstrip("/") or "/", item.get("path_b64"))] = None
    return list(seen)


def run(args, ctx):
    try:
        found = targets(args)
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
    permanent = bool(args.get("permanent"))
    effects = []
    for path, b64 in found:
        effect = {"op": "delete", "path": path, "to": "nothing" if permanent else "trash", "want": "file"}
        if b64:
            effect["path_b64"] = b64
        effects.append(effect)
    return {"ok": True, "effects": effects, "metadata": {"count": len(effects), "permanent": permanent}}
