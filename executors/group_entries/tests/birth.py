"""Birth cases of group_entries: data only."""

CASES = [
    {
        "name": "sums by category, exact in cents, one spelling a group",
        "args": {
            "entries": [
                {"Categoria": "Spesa", "Importo": 0.1},
                {"Categoria": "spesa ", "Importo": 0.2},
                {"Categoria": "Affitto", "Importo": "1.200,00"},
                {"Categoria": "Affitto", "Importo": "n/d"},
                {"Importo": 3},
            ],
            "by": "categoria",
            "aggregate": [{"op": "sum", "key": "importo"}],
        },
        "expect": {
            "ok": True,
            "entries": [{"categoria": "Affitto", "count": 2, "sum_importo": 1200}, {"categoria": "Spesa", "count": 2, "sum_importo": 0.3}, {"categoria": None, "count": 1, "sum_importo": 3}],
            "metadata": {"count": 3, "total": 5, "skipped": 1, "totals": {"count": 5, "sum_importo": 1203.3}, "columns": ["categoria", "count", "sum_importo"], "aggregates": ["sum_importo"]},
        },
    },
    {
        "name": "files by year and type, their sizes without naming the field",
        "args": {
            "entries": [
                {"path": "/a.jpg", "size": 10, "modified": "2025-06-01T12:00:00Z"},
                {"path": "/b.png", "size": 20, "modified": "2025-07-01T12:00:00Z"},
                {"path": "/c.pdf", "size": 5, "modified": "2026-07-01T12:00:00Z"},
                {"path": "/d", "size": 1, "modified": None},
            ],
            "by": ["anno", "type"],
            "aggregate": [{"op": "sum"}, {"op": "max", "key": "modified"}],
        },
        "expect": {
            "ok": True,
            "entries": [
                {"anno": 2025, "type": "picture", "count": 2, "sum_size": 30, "max_modified": "2025-07-01T12:00:00Z"},
                {"anno": 2026, "type": "document", "count": 1, "sum_size": 5},
                {"anno": None, "type": "other", "count": 1, "sum_size": 1, "max_modified": None},
            ],
            "metadata": {"of": "files", "sizes": ["sum_size"]},
        },
    },
    {
        "name": "numbers before text, in their order; averages and extremes",
        "args": {"entries": [{"k": 10, "v": 1}, {"k": 9, "v": 2}, {"k": "b", "v": 3}, {"k": 9, "v": 5}], "by": "k", "aggregate": [{"op": "avg", "key": "v"}, {"op": "min", "key": "v"}, {"op": "count", "key": "v"}]},
        "expect": {"ok": True, "entries": [{"k": 9, "count": 2, "avg_v": 3.5, "min_v": 2, "count_v": 2}, {"k": 10, "avg_v": 1}, {"k": "b", "avg_v": 3}]},
    },
    {
        "name": "a part of a date field",
        "args": {"entries": [{"paid": "2026-01-31"}, {"paid": "2026-01-01"}, {"paid": "2026-02-01"}, {"paid": "later"}], "by": "paid:month"},
        "expect": {"ok": True, "entries": [{"paid:month": "2026-01", "count": 2}, {"paid:month": "2026-02", "count": 1}, {"paid:month": None, "count": 1}]},
    },
    {
        "name": "a field called count is still told from the count",
        "args": {"entries": [{"count": 7}, {"count": 7}], "by": "count"},
        "expect": {"ok": True, "entries": [{"count (group)": 7, "count": 2}]},
    },
    {
        "name": "by month, of dates in several notations",
        "args": {"entries": [{"d": "03/04/2024", "n": 1}, {"d": "2024-04-05", "n": 2}, {"d": "4 Mar 2024", "n": 4}, {"d": "05/04/2024", "n": 8}], "by": "d:month", "aggregate": [{"op": "sum", "key": "n"}]},
        "expect": {
            "ok": True,
            "entries": [{"d:month": "2024-03", "sum_n": 5}, {"d:month": "2024-04", "sum_n": 2}, {"d:month": "2024-05", "sum_n": 8}],
            "metadata": {"dates": {"first": "month", "example": "03/04/2024"}},
        },
    },
    {
        "name": "shares of a sum, in per cent",
        "args": {"entries": [{"k": "a", "n": 1}, {"k": "b", "n": 2}, {"k": "c", "n": "x"}], "by": "k", "aggregate": [{"op": "sum", "key": "n"}], "share": True},
        "expect": {
            "ok": True,
            "entries": [{"k": "a", "sum_n": 1, "share": 33.3}, {"k": "b", "share": 66.7}, {"k": "c", "sum_n": None, "share": None}],
            "metadata": {"share_of": "sum_n", "columns": ["k", "count", "sum_n", "share"], "computed": ["sum_n", "share"], "totals": {"sum_n": 3, "share": 100}},
        },
    },
    {
        "name": "shares of the count; of negative parts there are none",
        "args": {"entries": [{"share": "a"}, {"share": "b"}, {"share": "b"}, {"share": "b"}], "by": "share", "share": True},
        "expect": {"ok": True, "entries": [{"share (group)": "a", "share": 25}, {"share (group)": "b", "share": 75}], "metadata": {"share_of": "count"}},
    },
    {
        "name": "no shares where a part is negative",
        "args": {"entries": [{"k": "a", "n": -1}, {"k": "b", "n": 5}], "by": "k", "aggregate": [{"op": "sum", "key": "n"}], "share": True},
        "expect": {"ok": True, "entries": [{"share": None}, {"share": None}], "metadata": {"share_of": "sum_n", "totals": {"sum_n": 4}}},
    },
    {"name": "nothing in, nothing out", "args": {"entries": [], "by": "x", "aggregate": [{"op": "sum", "key": "y"}]}, "expect": {"ok": True, "entries": [], "metadata": {"count": 0, "total": 0}}},
    {"name": "a field that is nowhere", "args": {"entries": [{"a": 1}], "by": "colour"}, "expect": {"ok": False, "error_class": "not_found"}},
    {
        "name": "which of two to sum",
        "args": {"entries": [{"k": "x", "a": 1, "b": 2}], "by": "k", "aggregate": [{"op": "sum"}]},
        "expect": {"ok": False, "error_class": "missing_input", "error": {"$match": "a, b"}},
    },
    {"name": "by nothing", "args": {"entries": [{"a": 1}], "by": [" "]}, "expect": {"ok": False, "error_class": "missing_input"}},
]
