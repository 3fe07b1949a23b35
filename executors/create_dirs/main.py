"""create_dirs: asks for folders to be made; the core makes them, with the missing ones above, and takes them back.

It never looks at the disk: whether a folder is there already is found out when the effects are planned.
"""


class Refused(Exception):
    def __init__(self, error_class, english, italian):
        super().__init__(english)
        self.error_class, self.english, self.italian = error_class, english, italian


def folders(args):
    """The wanted folders once each, those above before those below."""
    paths = args.get("paths")
    if not isinstance(paths, list) or not paths:
        raise Refused("missing_input", "Which folder is missing.", "Manca quale cartella.")
    seen = {}
    for path in paths:
        if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
            raise Refused("invalid_args", "A path is missing or is no path.", "Un percorso manca o non è un percorso.")
        seen[path.rstrip("/") or "/"] = None
    return sorted(seen, key=lambda path: path.count("/"))


def run(args, ctx):
    try:
        if_exists = args.get("if_exists") or "ok"
        if if_exists not in ("ok", "fail"):
            raise Refused("invalid_args", "if_exists is ok or fail.", "if_exists è ok o fail.")
        wanted = folders(args)
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
    effects = [{"op": "mkdir", "path": path, "if_exists": if_exists} for path in wanted]
    return {"ok": True, "effects": effects, "metadata": {"count": len(wanted)}}
