"""Birth cases of move_files: data only."""

CASES = [
    {
        "name": "into a folder",
        "args": {"paths": ["{ws}/a.txt", "{ws}/b"], "dst_template": "{ws}/archive/"},
        "expect": {
            "ok": True,
            "effects": [
                {"op": "move", "src": "{ws}/a.txt", "dst": "{ws}/archive/a.txt", "if_exists": "fail"},
                {"op": "move", "src": "{ws}/b", "dst": "{ws}/archive/b"},
            ],
            "metadata": {"count": 2, "skipped": []},
        },
    },
    {
        "name": "renamed where it is",
        "args": {"paths": ["{ws}/old.txt"], "dst_template": "{dir}/new.txt"},
        "expect": {"ok": True, "effects": [{"src": "{ws}/old.txt", "dst": "{ws}/new.txt"}]},
    },
    {
        "name": "by kind and year of what was found",
        "args": {
            "entries": [
                {"path": "{ws}/in/x.JPG", "modified": "2024-03-05T10:00:00Z", "size": 3},
                {"path": "{ws}/in/y.pdf", "modified": "2023-12-01T10:00:00Z", "size": 4},
                {"path": "{ws}/in/noext", "modified": "2023-12-01T10:00:00Z", "size": 4},
            ],
            "dst_template": "{ws}/out/{type}/{year}/{name}",
        },
        "expect": {
            "ok": True,
            "effects": [{"dst": "{ws}/out/picture/2024/x.JPG"}, {"dst": "{ws}/out/document/2023/y.pdf"}, {"dst": "{ws}/out/other/2023/noext"}],
        },
    },
    {
        "name": "numbered, with the extension that each has",
        "args": {"entries": [{"path": "{ws}/a.png"}, {"path": "{ws}/b"}], "dst_template": "{dir}/photo-{n:03}.{ext}"},
        "expect": {"ok": True, "effects": [{"dst": "{ws}/photo-001.png"}, {"dst": "{ws}/photo-002"}]},
    },
    {
        "name": "dates of the disk, of a path that was named",
        "args": {"paths": ["{ws}/in/a.txt"], "dst_template": "{ws}/{year}/{stem}-{size}.{ext}"},
        "files": {"in/a.txt": "12345"},
        "expect": {"ok": True, "effects": [{"dst": {"$match": "/20[0-9][0-9]/a-5\\.txt$"}}]},
    },
    {
        "name": "a capture date that one of them lacks",
        "args": {
            "entries": [{"path": "{ws}/a.jpg", "taken": "2020-02-29T23:30:00"}, {"path": "{ws}/b.jpg"}],
            "dst_template": "{ws}/{taken_date} {name}",
        },
        "expect": {
            "ok": True,
            "effects": [{"dst": "{ws}/2020-02-29 a.jpg"}],
            "metadata": {"count": 2, "skipped": [{"path": "{ws}/b.jpg", "error_class": "not_found", "error": "$any"}]},
        },
    },
    {
        "name": "a name that is no UTF-8 keeps its bytes",
        "args": {"entries": [{"path": "/w/caff�", "path_b64": "L3cvY2FmZug="}], "dst_template": "/x/"},
        "expect": {"ok": True, "effects": [{"src": "/w/caff�", "src_b64": "L3cvY2FmZug=", "dst": "/x/caff�", "dst_b64": "L3gvY2FmZug="}]},
    },
    {
        "name": "two of one name",
        "args": {"paths": ["{ws}/a/x.txt", "{ws}/b/x.txt"], "dst_template": "{ws}/c/"},
        "expect": {"ok": False, "error_class": "invalid_args", "error": {"$match": "x.txt"}},
    },
    {
        "name": "two of one name, numbered",
        "args": {"paths": ["{ws}/a/x.txt", "{ws}/b/x.txt"], "dst_template": "{ws}/c/", "if_exists": "number"},
        "expect": {"ok": True, "effects": [{"dst": "{ws}/c/x.txt", "if_exists": "number"}, {"dst": "{ws}/c/x.txt"}]},
    },
    {"name": "several go into a folder, by whatever name", "args": {"paths": ["{ws}/a", "{ws}/b"], "dst_template": "{ws}/c"}, "files": {"a": "1", "b": "2"}, "expect": {"ok": True, "effects": [{"op": "move", "src": "{ws}/a", "dst": "{ws}/c/a"}, {"op": "move", "src": "{ws}/b", "dst": "{ws}/c/b"}]}},
    {"name": "folders by their own placeholders", "args": {"entries": [{"path": "{ws}/a.pdf", "name": "a.pdf", "modified": "2025-03-04T10:00:00Z", "size": 1}], "dst_template": "{ws}/{type}/{year}"}, "files": {"a.pdf": "1"}, "expect": {"ok": True, "effects": [{"op": "move", "dst": "{ws}/document/2025/a.pdf"}]}},
    {"name": "an unknown placeholder", "args": {"paths": ["{ws}/a"], "dst_template": "{ws}/{colour}/{name}"}, "expect": {"ok": False, "error_class": "invalid_args", "error": {"$match": "taken_year"}}},
    {"name": "a stray brace", "args": {"paths": ["{ws}/a"], "dst_template": "{ws}/x}"}, "expect": {"ok": False, "error_class": "invalid_args"}},
    {"name": "a way out", "args": {"paths": ["{ws}/a"], "dst_template": "{ws}/{name}/../x"}, "expect": {"ok": False, "error_class": "invalid_args"}},
    {"name": "nothing found, nothing moved", "args": {"entries": [], "dst_template": "{ws}/c/"}, "expect": {"ok": True, "effects": []}},
    {"name": "nothing named", "args": {"paths": [], "dst_template": "{ws}/c/"}, "expect": {"ok": False, "error_class": "missing_input"}},
    {
        "name": "by date, one of two is not there: the other is moved",
        "args": {"paths": ["{ws}/in/a.txt", "{ws}/in/gone.txt"], "dst_template": "{ws}/out/{year}/{name}"},
        "files": {"in/a.txt": "x"},
        "expect": {
            "ok": True,
            "effects": [{"op": "move", "src": "{ws}/in/a.txt"}],
            "metadata": {"count": 2, "skipped": [{"path": "{ws}/in/gone.txt", "error_class": "not_found", "error": {"$match": "not there"}}]},
        },
    },
]
