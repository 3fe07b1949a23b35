"""Birth cases of list_dirs: data only."""

CASES = [
    {
        "name": "one level only, by name whatever the case",
        "args": {"path": "{ws}/in"},
        "files": {"in/b.txt": "bb", "in/A.txt": "a", "in/sub/deep.txt": "ddd", "in/.hidden": "h"},
        "expect": {
            "ok": True,
            "entries": [
                {"path": "{ws}/in/.hidden", "name": ".hidden", "kind": "file", "size": 1},
                {"path": "{ws}/in/A.txt", "name": "A.txt", "kind": "file", "size": 1, "modified": {"$match": "^20.*Z$"}},
                {"path": "{ws}/in/b.txt", "name": "b.txt", "size": 2},
                {"path": "{ws}/in/sub", "name": "sub", "kind": "dir", "size": 0},
            ],
            "metadata": {"base_path": "{ws}/in", "count": 4, "shown": 4, "total_size": 4, "truncated": False, "unreadable": 0, "links": 0, "hidden": 0},
        },
    },
    {
        "name": "the largest first, names decide between equals",
        "args": {"path": "{ws}/in", "sort": "size", "desc": True, "kind": "file"},
        "files": {"in/b": "22", "in/a": "22", "in/c": "333", "in/d": "", "in/e/x": "4444"},
        "expect": {"ok": True, "entries": [{"name": "c"}, {"name": "a"}, {"name": "b"}, {"name": "d"}], "metadata": {"count": 4, "total_size": 7}},
    },
    {
        "name": "folders only, without hidden ones, last name first",
        "args": {"path": "{ws}/in", "kind": "dir", "hidden": False, "desc": True},
        "files": {"in/one/a": "", "in/two/b": "", "in/.three/c": "", "in/file": ""},
        "expect": {"ok": True, "entries": [{"name": "two"}, {"name": "one"}], "metadata": {"count": 2, "hidden": 1}},
    },
    {
        "name": "all are counted, the first are returned",
        "args": {"path": "{ws}/in", "max_results": 1},
        "files": {"in/b": "2", "in/a": "1"},
        "expect": {"ok": True, "entries": [{"name": "a"}], "metadata": {"count": 2, "shown": 1, "truncated": True, "truncated_by": "max_results", "total_size": 2}},
    },
    {
        "name": "an empty folder",
        "args": {"path": "{ws}/in"},
        "files": {"in/": ""},
        "expect": {"ok": True, "entries": [], "metadata": {"count": 0, "total_size": 0, "truncated": False}},
    },
    {
        "name": "names with spaces, a line break and an emoji",
        "args": {"path": "{ws}/in"},
        "files": {"in/my file": "", "in/two\nlines": "", "in/🐈.txt": ""},
        "expect": {"ok": True, "entries": [{"name": "my file"}, {"name": "two\nlines"}, {"name": "🐈.txt"}]},
    },
    {"name": "a missing folder", "args": {"path": "{ws}/nowhere"}, "expect": {"ok": False, "error_class": "not_found"}},
    {
        "name": "a file instead of a folder",
        "args": {"path": "{ws}/in/a.txt"},
        "files": {"in/a.txt": "a"},
        "expect": {"ok": False, "error_class": "wrong_type"},
    },
    {
        "name": "an order that does not exist",
        "args": {"path": "{ws}/in", "sort": "colour"},
        "files": {"in/a.txt": "a"},
        "expect": {"ok": False, "error_class": "invalid_args"},
    },
]
