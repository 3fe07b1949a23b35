"""Birth cases of delete_files: data only."""

CASES = [
    {
        "name": "into the trash",
        "args": {"paths": ["{ws}/a", "{ws}/b"]},
        "expect": {
            "ok": True,
            "effects": [{"op": "delete", "path": "{ws}/a", "to": "trash", "want": "file"}, {"op": "delete", "path": "{ws}/b", "to": "trash"}],
            "metadata": {"count": 2, "permanent": False},
        },
    },
    {
        "name": "for good",
        "args": {"paths": ["{ws}/a"], "permanent": True},
        "expect": {"ok": True, "effects": [{"path": "{ws}/a", "to": "nothing"}], "metadata": {"permanent": True}},
    },
    {
        "name": "what an earlier step found, names that are no UTF-8 too",
        "args": {"entries": [{"path": "/caff�", "path_b64": "L2NhZmbo", "size": 3}, {"path": "{ws}/it's \"b\" 🐈"}]},
        "expect": {"ok": True, "effects": [{"path": "/caff�", "path_b64": "L2NhZmbo"}, {"path": "{ws}/it's \"b\" 🐈"}]},
    },
    {
        "name": "named twice, deleted once",
        "args": {"paths": ["{ws}/a", "{ws}/a"]},
        "expect": {"ok": True, "effects": [{"path": "{ws}/a"}], "metadata": {"count": 1}},
    },
    {"name": "an earlier step found nothing", "args": {"entries": []}, "expect": {"ok": True, "effects": [], "metadata": {"count": 0}}},
    {"name": "nothing named", "args": {"paths": []}, "expect": {"ok": False, "error_class": "missing_input"}},
    {"name": "paths and entries", "args": {"paths": ["{ws}/a"], "entries": []}, "expect": {"ok": False, "error_class": "invalid_args"}},
]
