"""Birth cases of describe_entries: data only."""

CASES = [
    {
        "name": "numbers, dates, texts and what is missing",
        "args": {
            "entries": [
                {"item": "bread", "price": 2.5, "when": "2026-01-02"},
                {"item": "bread", "price": "1.234,50", "when": "2026-03-04"},
                {"item": "tea", "price": 3, "when": None},
                {"item": "città", "price": "n/a", "note": ""},
            ]
        },
        "expect": {
            "ok": True,
            "content": {"$match": "^4 rows, 4 fields:\\n- item .text.: 3 different: bread .2., tea .1., città .1.\\n- price .number.: from 2.5 to 1,234.5; sum 1,240, average 413.3333; 1 other value\\n- when .date.: from 2 Jan 2026 to 4 Mar 2026; missing in 2\\n- note: empty\\n"},
            "metadata": {
                "count": 4,
                "fields": [
                    {"name": "item", "kind": "text", "filled": 4, "distinct": 3},
                    {"name": "price", "kind": "number", "min": 2.5, "max": 1234.5, "sum": 1240},
                    {"name": "when", "kind": "date", "min": "2026-01-02", "max": "2026-03-04", "filled": 2},
                    {"name": "note", "kind": "empty", "filled": 0},
                ],
                "truncated": False,
            },
        },
    },
    {
        "name": "files, their sizes human, only the first",
        "args": {"entries": [{"path": "/a", "size": 1500000}, {"path": "/b", "size": 500}], "max_items": 1},
        "expect": {"ok": True, "content": {"$match": "size .number.: from 500 B to 1.5 MB(.|\\n)*The first 1:(.|\\n)*1.5 MB  /a\\n$"}, "metadata": {"of": "files"}},
    },
    {
        "name": "one field only",
        "args": {"entries": [{"Price €": 1, "x": 2}, {"Price €": 3, "x": 2}], "fields": "price"},
        "expect": {"ok": True, "content": "2 rows, 1 field:\n- price (number): from 1 to 3; sum 4, average 2\n"},
    },
    {
        "name": "signs that would steer a terminal, and lists as values",
        "args": {"entries": [{"a": "x\u001b[31m\ny", "b": [1, "z"]}, {"a": "w", "b": {"k": None}}]},
        "expect": {"ok": True, "content": {"$match": "x.31m↵y"}},
    },
    {"name": "nothing", "args": {"entries": []}, "expect": {"ok": True, "content": "The list is empty.", "metadata": {"count": 0}}},
    {"name": "a field that is nowhere", "args": {"entries": [{"a": 1}], "fields": ["colour"]}, "expect": {"ok": False, "error_class": "not_found"}},
]
