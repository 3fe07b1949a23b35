"""Birth cases of compare_entries: data only."""

CASES = [
    {
        "name": "two texts, line by line, as a unified diff",
        "args": {"entries": [{"path": "/old", "content": "a\nb\nc\n"}, {"path": "/new", "content": "a\nB\nc\nd\n"}]},
        "expect": {
            "ok": True,
            "entries": [{"change": "removed", "line": 2, "text": "b"}, {"change": "added", "line": 2, "text": "B"}, {"change": "added", "line": 4, "text": "d"}],
            "content": "--- /old\n+++ /new\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+d",
            "metadata": {"same": False, "kind": "texts", "added": 2, "removed": 1, "count": 3, "names": ["/old", "/new"], "truncated": False},
        },
    },
    {
        "name": "the same text, ended or not, with either line end",
        "args": {"entries": [{"name": "x", "content": "è\r\n🐈"}, {"name": "y", "content": "è\n🐈\n"}]},
        "expect": {"ok": True, "entries": [], "content": "", "metadata": {"same": True, "added": 0, "removed": 0, "names": ["x", "y"]}},
    },
    {
        "name": "from nothing; differences far apart are two pieces",
        "args": {"first": [{"content": "1\n2\n3\n4\n5\n6\n7\n8\n9\n"}], "second": [{"content": "0\n1\n2\n3\n4\n5\n6\n7\n8\n"}]},
        "expect": {"ok": True, "entries": [{"change": "added", "line": 1, "text": "0"}, {"change": "removed", "line": 9, "text": "9"}], "content": {"$match": "@@ -1,3 .1,4 @@(.|\\n)*@@ -6,4 .7,3 @@"}},
    },
    {
        "name": "an empty text against one line",
        "args": {"entries": [{"content": ""}, {"content": "x"}]},
        "expect": {"ok": True, "content": "--- 1\n+++ 2\n@@ -0,0 +1 @@\n+x", "metadata": {"added": 1, "removed": 0}},
    },
    {
        "name": "records by a key that is found: added, removed, changed",
        "args": {
            "first": [{"id": 1, "price": 10, "name": "tea"}, {"id": 2, "price": 5}],
            "second": [{"id": 3, "price": 7}, {"id": 1, "price": 12, "name": "tea"}],
        },
        "expect": {
            "ok": True,
            "entries": [
                {"change": "changed", "id": 1, "fields": {"price": [10, 12]}},
                {"change": "removed", "id": 2, "entry": {"price": 5}},
                {"change": "added", "id": 3, "entry": {"price": 7}},
            ],
            "content": {"$match": "~ 1: price 10 → 12"},
            "metadata": {"kind": "records", "added": 1, "removed": 1, "changed": 1, "key": "id"},
        },
    },
    {
        "name": "records without a key: whole ones, as often as they stand",
        "args": {"first": [{"a": 1}, {"a": 1}], "second": [{"a": 1}, {"a": 2}]},
        "expect": {"ok": True, "entries": [{"change": "removed", "entry": {"a": 1}}, {"change": "added", "entry": {"a": 2}}]},
    },
    {
        "name": "the data of two files; their names do not make them differ",
        "args": {"entries": [{"path": "/a", "name": "a", "size": 1, "sha256": "00", "modified": "2026-01-01T00:00:00Z"}, {"path": "/b", "name": "b", "size": 1, "sha256": "11", "modified": "2026-02-01T00:00:00Z"}]},
        "expect": {"ok": True, "entries": [{"change": "changed", "field": "sha256", "first": "00", "second": "11"}], "metadata": {"same": False, "changed": 1, "names": ["/a", "/b"]}},
    },
    {"name": "a text that was cut is not proven the same", "args": {"entries": [{"content": "a", "truncated": True}, {"content": "a"}]}, "expect": {"ok": True, "metadata": {"same": True, "truncated": True}}},
    {"name": "one is not enough", "args": {"entries": [{"content": "a"}]}, "expect": {"ok": False, "error_class": "missing_input"}},
    {"name": "a key that is nowhere", "args": {"first": [{"a": 1}], "second": [{"a": 1}], "key": "colour"}, "expect": {"ok": False, "error_class": "not_found"}},
]
