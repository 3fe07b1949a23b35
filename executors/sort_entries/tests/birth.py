"""Birth cases of sort_entries: data only."""

CASES = [
    {
        "name": "largest first, the first two, all fields kept",
        "args": {
            "entries": [{"path": "/a", "size": 5, "kind": "file"}, {"path": "/b", "size": 50, "path_b64": "L2I="}, {"path": "/c", "size": 500}],
            "by": "dimensione",
            "desc": True,
            "top": 2,
        },
        "expect": {
            "ok": True,
            "entries": [{"path": "/c", "size": 500}, {"path": "/b", "size": 50, "path_b64": "L2I="}],
            "metadata": {"count": 2, "total": 3, "by": ["dimensione"], "desc": True, "kind": "number", "of": "files", "truncated": False},
        },
    },
    {
        "name": "Italian numbers, text after numbers, missing last: upwards",
        "args": {"entries": [{"p": "n/a", "i": 1}, {"i": 2}, {"p": "1.234,50", "i": 3}, {"p": "12,50", "i": 4}, {"p": 100, "i": 5}, {"p": "", "i": 6}, {"p": "nan", "i": 7}], "by": "p"},
        "expect": {"ok": True, "entries": [{"i": 4}, {"i": 5}, {"i": 3}, {"i": 1}, {"i": 7}, {"i": 2}, {"i": 6}], "metadata": {"missing": 2}},
    },
    {
        "name": "and downwards",
        "args": {"entries": [{"p": "n/a", "i": 1}, {"i": 2}, {"p": "1.234,50", "i": 3}, {"p": "12,50", "i": 4}, {"p": 100, "i": 5}], "by": "p", "desc": True},
        "expect": {"ok": True, "entries": [{"i": 3}, {"i": 5}, {"i": 4}, {"i": 1}, {"i": 2}]},
    },
    {
        "name": "moments across zones, newest first",
        "args": {"entries": [{"d": "2026-03-05T10:00:00+02:00"}, {"d": "2026-03-05T08:30:00Z"}, {"d": "2026-03-05"}, {"d": "2025-12-31T23:59:59.5Z"}], "by": "d", "desc": True},
        "expect": {"ok": True, "entries": [{"d": "2026-03-05T08:30:00Z"}, {"d": "2026-03-05T10:00:00+02:00"}, {"d": "2026-03-05"}, {"d": "2025-12-31T23:59:59.5Z"}], "metadata": {"kind": "date"}},
    },
    {
        "name": "text without case and accents; equal ones stay in their order",
        "args": {"entries": [{"n": "Zoe"}, {"n": "élan", "i": 1}, {"n": "Elan", "i": 2}, {"n": "abc"}, {"n": "日本"}], "by": "n"},
        "expect": {"ok": True, "entries": [{"n": "abc"}, {"i": 1}, {"i": 2}, {"n": "Zoe"}, {"n": "日本"}], "metadata": {"kind": "text"}},
    },
    {
        "name": "by two fields, the second of them derived; some left out at the start",
        "args": {"entries": [{"path": "/x/b.txt", "size": 2}, {"path": "/x/a.txt", "size": 1}, {"path": "/x/c.md", "size": 1}], "by": ["size", "extension"], "offset": 1},
        "expect": {"ok": True, "entries": [{"path": "/x/a.txt"}, {"path": "/x/b.txt"}], "metadata": {"count": 2, "total": 3}},
    },
    {
        "name": "the column that has the word in its name",
        "args": {"entries": [{"Prezzo (€)": "3,00"}, {"Prezzo (€)": "1,00"}], "by": "prezzo"},
        "expect": {"ok": True, "entries": [{"Prezzo (€)": "1,00"}, {"Prezzo (€)": "3,00"}]},
    },
    {
        "name": "folders are called folders, a mix is neither",
        "args": {"entries": [{"path": "/b", "kind": "dir", "items": 1}, {"path": "/a", "kind": "dir", "items": 2}], "by": "items", "desc": True},
        "expect": {"ok": True, "entries": [{"path": "/a"}, {"path": "/b"}], "metadata": {"of": "dirs", "columns": ["items", "path"]}},
    },
    {
        "name": "dates in several notations: a day beyond 12 tells the order for all, what is no date comes last and is counted",
        "args": {"entries": [{"d": "03/04/2024"}, {"d": "2024-03-05"}, {"d": "4 Mar 2024"}, {"d": "25/2/2024"}, {"d": "soon"}, {"d": ""}, {"d": 7}], "by": "d"},
        "expect": {
            "ok": True,
            "entries": [{"d": "25/2/2024"}, {"d": "4 Mar 2024"}, {"d": "2024-03-05"}, {"d": "03/04/2024"}, {"d": 7}, {"d": "soon"}, {"d": ""}],
            "metadata": {"kind": "date", "no_date": 2, "missing": 1},
        },
    },
    {
        "name": "month first by one cell, newest first",
        "args": {"entries": [{"d": "03/04/2024"}, {"d": "03/25/2024"}, {"d": "5 aprile 2024"}, {"d": "Sunday, March 10, 2024"}, {"d": "2024/4/1 10:30"}], "by": "d", "desc": True},
        "expect": {"ok": True, "entries": [{"d": "5 aprile 2024"}, {"d": "2024/4/1 10:30"}, {"d": "03/25/2024"}, {"d": "Sunday, March 10, 2024"}, {"d": "03/04/2024"}], "metadata": {"kind": "date", "no_date": 0}},
    },
    {
        "name": "where nothing tells which comes first, it is said how they were read",
        "args": {"entries": [{"d": "04/03/2024"}, {"d": "03/05/2024"}], "by": "d"},
        "expect": {"ok": True, "entries": [{"d": "03/05/2024"}, {"d": "04/03/2024"}], "metadata": {"dates": {"first": "month", "example": "04/03/2024"}}},
    },
    {
        "name": "versions and most other texts are no dates",
        "args": {"entries": [{"v": "1.10.2"}, {"v": "1.2.10"}, {"v": "1.1.5"}], "by": "v"},
        "expect": {"ok": True, "entries": [{"v": "1.1.5"}, {"v": "1.10.2"}, {"v": "1.2.10"}], "metadata": {"kind": "text"}},
    },
    {"name": "more than there are", "args": {"entries": [{"a": 2}, {"a": 1}], "by": "a", "top": 10}, "expect": {"ok": True, "entries": [{"a": 1}, {"a": 2}], "metadata": {"count": 2}}},
    {"name": "nothing in, nothing out", "args": {"entries": [], "by": "size"}, "expect": {"ok": True, "entries": [], "metadata": {"count": 0, "total": 0}}},
    {"name": "a field that is nowhere", "args": {"entries": [{"a": 1}], "by": "colour"}, "expect": {"ok": False, "error_class": "not_found", "error": {"$match": "there are: a"}}},
    {"name": "by nothing", "args": {"entries": [{"a": 1}], "by": " "}, "expect": {"ok": False, "error_class": "missing_input"}},
]
