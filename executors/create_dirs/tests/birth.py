"""Birth cases of create_dirs: data only."""

CASES = [
    {
        "name": "one folder",
        "args": {"paths": ["{ws}/photos"]},
        "expect": {"ok": True, "effects": [{"op": "mkdir", "path": "{ws}/photos", "if_exists": "ok"}], "metadata": {"count": 1}},
    },
    {
        "name": "those above come first",
        "args": {"paths": ["{ws}/a/b/c", "{ws}/a", "{ws}/a/b"]},
        "expect": {"ok": True, "effects": [{"path": "{ws}/a"}, {"path": "{ws}/a/b"}, {"path": "{ws}/a/b/c"}]},
    },
    {
        "name": "named twice, made once",
        "args": {"paths": ["{ws}/a", "{ws}/a/"], "if_exists": "fail"},
        "expect": {"ok": True, "effects": [{"path": "{ws}/a", "if_exists": "fail"}], "metadata": {"count": 1}},
    },
    {
        "name": "odd names",
        "args": {"paths": ["{ws}/it's \"one\" 🐈", "{ws}/due\nrighe"]},
        "expect": {"ok": True, "effects": [{"path": "{ws}/it's \"one\" 🐈"}, {"path": "{ws}/due\nrighe"}]},
    },
    {"name": "no folder named", "args": {"paths": []}, "expect": {"ok": False, "error_class": "missing_input"}},
    {"name": "a NUL in the name", "args": {"paths": ["{ws}/a\u0000b"]}, "expect": {"ok": False, "error_class": "invalid_args"}},
]
