"""Birth cases of classify_entries: data only."""

CASES = [
    {
        "name": "by kind of file, all fields kept",
        "args": {
            "entries": [{"path": "/a.JPG", "size": 5, "path_b64": "L2EuSlBH"}, {"path": "/b.pdf", "size": 1}, {"path": "/c.jpeg", "size": 2}, {"path": "/d", "kind": "dir"}, {"path": "/e.xyz"}],
            "by": "type",
        },
        "expect": {
            "ok": True,
            "entries": [{"path": "/a.JPG", "class": "picture", "path_b64": "L2EuSlBH"}, {"class": "document"}, {"class": "picture"}, {"class": "folder"}, {"class": "other"}],
            "metadata": {"count": 5, "classes": {"picture": 2, "document": 1, "folder": 1, "other": 1}, "totals": {"count": 5, "size": 8}, "truncated": False},
        },
    },
    {
        "name": "by size",
        "args": {"entries": [{"size": 0}, {"size": 100000}, {"size": 100001}, {"size": 999999999}, {"size": 5000000000}, {"size": "12 kB"}, {"size": "?"}], "by": "size"},
        "expect": {"ok": True, "entries": [{"class": "empty"}, {"class": "small"}, {"class": "medium"}, {"class": "large"}, {"class": "huge"}, {"class": "small"}, {"class": "other"}]},
    },
    {
        "name": "by age",
        "args": {"entries": [{"modified": "2001-02-03T04:05:06Z"}, {"modified": "2998-01-01"}, {"modified": None}, {"modified": "soon"}], "by": "age"},
        "expect": {"ok": True, "entries": [{"class": "older"}, {"class": "last 7 days"}, {"class": "other"}, {"class": "other"}]},
    },
    {
        "name": "by rules, the first that fits",
        "args": {
            "entries": [{"Importo": "1.200,00", "Cosa": "Affitto"}, {"Importo": "3,50", "Cosa": "Caffè"}, {"Importo": "80", "Cosa": "Spesa"}],
            "rules": [
                {"label": "casa", "where": [{"field": "cosa", "op": "eq", "value": "affitto"}]},
                {"label": "grandi", "where": [{"field": "importo", "op": "ge", "value": 50}]},
                {"label": "bar", "where": [{"field": "*", "op": "contains", "value": "caffe"}]},
            ],
        },
        "expect": {"ok": True, "entries": [{"class": "casa"}, {"class": "bar"}, {"class": "grandi"}], "metadata": {"classes": {"casa": 1, "grandi": 1, "bar": 1}, "of": "rows"}},
    },
    {"name": "nothing in, nothing out", "args": {"entries": [], "by": "type"}, "expect": {"ok": True, "entries": [], "metadata": {"count": 0, "classes": {}}}},
    {"name": "kinds of what is no file", "args": {"entries": [{"a": 1}], "by": "type"}, "expect": {"ok": False, "error_class": "not_found"}},
    {
        "name": "a broken pattern in a rule",
        "args": {"entries": [{"a": "x"}], "rules": [{"label": "x", "where": [{"field": "a", "op": "regex", "value": "*"}]}]},
        "expect": {"ok": False, "error_class": "invalid_args"},
    },
]
