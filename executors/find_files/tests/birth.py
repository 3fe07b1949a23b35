"""Birth cases of find_files: data only."""

CASES = [
    {
        "name": "by extension, in any case, subfolders included, sorted by path",
        "args": {"base_path": "{ws}/in", "patterns": ["*.md"]},
        "files": {"in/b.md": "bb", "in/a.md": "a", "in/a/z.MD": "zzz", "in/c.txt": "no", "in/amd": "no"},
        "expect": {
            "ok": True,
            "entries": [
                {"path": "{ws}/in/a.md", "name": "a.md", "kind": "file", "size": 1, "modified": {"$match": "^20.*Z$"}},
                {"path": "{ws}/in/a/z.MD", "name": "z.MD", "kind": "file", "size": 3},
                {"path": "{ws}/in/b.md", "name": "b.md", "kind": "file", "size": 2},
            ],
            "metadata": {"count": 3, "total_size": 6, "truncated": False, "unreadable": 0, "base_path": "{ws}/in"},
        },
    },
    {
        "name": "the folder's own entries only",
        "args": {"base_path": "{ws}/in", "recursive": False, "kind": "any"},
        "files": {"in/a.txt": "a", "in/sub/b.txt": "b"},
        "expect": {"ok": True, "entries": [{"name": "a.txt", "kind": "file"}, {"name": "sub", "kind": "dir", "size": 0}], "metadata": {"count": 2}},
    },
    {
        "name": "folders",
        "args": {"base_path": "{ws}/in", "kind": "dir"},
        "files": {"in/one/a": "", "in/two/three/b": ""},
        "expect": {"ok": True, "entries": [{"path": "{ws}/in/one"}, {"path": "{ws}/in/two"}, {"path": "{ws}/in/two/three"}]},
    },
    {
        "name": "by size",
        "args": {"base_path": "{ws}/in", "min_size": 3, "max_size": 4},
        "files": {"in/2": "ab", "in/3": "abc", "in/4": "abcd", "in/5": "abcde"},
        "expect": {"ok": True, "entries": [{"name": "3"}, {"name": "4"}], "metadata": {"total_size": 7}},
    },
    {
        "name": "by day, from the first and to the last of it",
        "args": {"base_path": "{ws}/in", "modified_since": "2020-01-01", "modified_until": "2999-12-31"},
        "files": {"in/a": "a"},
        "expect": {"ok": True, "entries": [{"name": "a"}]},
    },
    {
        "name": "nothing that old",
        "args": {"base_path": "{ws}/in", "modified_until": "2001-02-03T04:05:06Z"},
        "files": {"in/a": "a"},
        "expect": {"ok": True, "entries": [], "metadata": {"count": 0, "total_size": 0}},
    },
    {
        "name": "names with spaces, quotes, a line break and an emoji",
        "args": {"base_path": "{ws}/in", "patterns": ["my *", "*'*", "*\n*", "*🐈*"]},
        "files": {"in/my file": "", "in/it's": "", "in/two\nlines": "", "in/🐈.txt": "", "in/plain": ""},
        "expect": {"ok": True, "entries": [{"name": "it's"}, {"name": "my file"}, {"name": "two\nlines"}, {"name": "🐈.txt"}]},
    },
    {
        "name": "all are counted, the first by path are returned",
        "args": {"base_path": "{ws}/in", "max_results": 2},
        "files": {"in/d": "4", "in/b/x": "2", "in/b.txt": "3", "in/a": "1"},
        "expect": {
            "ok": True,
            "entries": [{"path": "{ws}/in/a"}, {"path": "{ws}/in/b.txt"}],
            "metadata": {"count": 4, "shown": 2, "truncated": True, "truncated_by": "max_results", "total_size": 4},
        },
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
        "args": {"base_path": "{ws}/in", "modified_since": "2026-13-45"},
        "files": {"in/a.txt": "a"},
        "expect": {"ok": False, "error_class": "invalid_args"},
    },
]
