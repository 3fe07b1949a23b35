"""Birth cases of find_dirs: data only."""

CASES = [
    {
        "name": "all folders, with how many entries each holds, sorted by path",
        "args": {"base_path": "{ws}/in"},
        "files": {"in/b/x": "", "in/a/deep/y": "", "in/a/z": "", "in/file": "", "in/c/": ""},
        "expect": {
            "ok": True,
            "entries": [
                {"path": "{ws}/in/a", "name": "a", "kind": "dir", "size": 0, "items": 2, "modified": {"$match": "^20.*Z$"}},
                {"path": "{ws}/in/a/deep", "items": 1},
                {"path": "{ws}/in/b", "items": 1},
                {"path": "{ws}/in/c", "items": 0},
            ],
            "metadata": {"base_path": "{ws}/in", "count": 4, "shown": 4, "truncated": False, "unreadable": 0},
        },
    },
    {
        "name": "empty ones",
        "args": {"base_path": "{ws}/in", "empty": True},
        "files": {"in/full/x": "", "in/empty/": "", "in/full/inner/": ""},
        "expect": {"ok": True, "entries": [{"name": "empty", "items": 0}, {"path": "{ws}/in/full/inner"}]},
    },
    {
        "name": "those that hold something, one level down",
        "args": {"base_path": "{ws}/in", "empty": False, "recursive": False},
        "files": {"in/full/inner/x": "", "in/empty/": ""},
        "expect": {"ok": True, "entries": [{"name": "full", "items": 1}]},
    },
    {
        "name": "by name, in any depth; a folder that does not fit is walked all the same",
        "args": {"base_path": "{ws}/in", "patterns": ["20??", "Foto*"]},
        "files": {"in/x/2026/a": "", "in/2025/b": "", "in/Foto estate/c": "", "in/2026.txt": ""},
        "expect": {"ok": True, "entries": [{"name": "2025"}, {"name": "Foto estate"}, {"path": "{ws}/in/x/2026"}]},
    },
    {
        "name": "so many levels and no more",
        "args": {"base_path": "{ws}/in", "max_depth": 2},
        "files": {"in/a/b/c/d": ""},
        "expect": {"ok": True, "entries": [{"name": "a"}, {"name": "b", "items": 1}]},
    },
    {
        "name": "all are counted, the first are returned",
        "args": {"base_path": "{ws}/in", "max_results": 1},
        "files": {"in/b/": "", "in/a/": ""},
        "expect": {"ok": True, "entries": [{"name": "a"}], "metadata": {"count": 2, "shown": 1, "truncated": True, "truncated_by": "max_results"}},
    },
    {
        "name": "nothing that old",
        "args": {"base_path": "{ws}/in", "modified_until": "2001-02-03"},
        "files": {"in/a/": ""},
        "expect": {"ok": True, "entries": [], "metadata": {"count": 0}},
    },
    {"name": "a missing folder", "args": {"base_path": "{ws}/nowhere"}, "expect": {"ok": False, "error_class": "not_found"}},
    {
        "name": "a file instead of a folder",
        "args": {"base_path": "{ws}/in/a.txt"},
        "files": {"in/a.txt": "a"},
        "expect": {"ok": False, "error_class": "wrong_type"},
    },
    {
        "name": "a date that is none",
        "args": {"base_path": "{ws}/in", "modified_since": "yesterday"},
        "files": {"in/a/": ""},
        "expect": {"ok": False, "error_class": "invalid_args"},
    },
]
