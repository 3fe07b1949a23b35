"""Birth cases of compute_entries: data only."""

CASES = [
    {
        "name": "a sum in Italian notation; what is no number is counted, not taken for zero",
        "args": {"entries": [{"Importo": "1.234,50"}, {"Importo": "€ 12,50"}, {"Importo": "-7"}, {"Importo": "n/d"}, {"Importo": "NaN"}, {}], "op": "sum", "key": "importo"},
        "expect": {"ok": True, "value": 1240, "content": "1240", "entries": [], "metadata": {"op": "sum", "key": "importo", "count": 3, "skipped": 3}},
    },
    {
        "name": "cents add up exactly",
        "args": {"entries": [{"p": 0.1}, {"p": 0.2}, {"p": "0.30"}], "op": "sum", "key": "p"},
        "expect": {"ok": True, "value": 0.6, "content": "0.6"},
    },
    {
        "name": "the size of files, the field not named",
        "args": {"entries": [{"path": "/a", "size": 1500, "pages": 3}, {"path": "/b", "size": 500, "pages": 4}], "op": "sum"},
        "expect": {"ok": True, "value": 2000, "metadata": {"key": "size", "unit": "bytes", "of": "files"}},
    },
    {
        "name": "the newest file, with the one that it is",
        "args": {"entries": [{"path": "/a", "modified": "2026-01-01T00:00:00Z"}, {"path": "/b", "modified": "2026-01-01T00:30:00+02:00"}, {"path": "/c", "modified": None}], "op": "max", "key": "date"},
        "expect": {"ok": True, "value": "2026-01-01T00:00:00Z", "entries": [{"path": "/a"}], "metadata": {"unit": "date", "count": 2, "skipped": 1}},
    },
    {
        "name": "the least is held by two",
        "args": {"entries": [{"n": 2, "i": 1}, {"n": 1, "i": 2}, {"n": "1,0", "i": 3}], "op": "min", "key": "n"},
        "expect": {"ok": True, "value": 1, "entries": [{"i": 2}, {"i": 3}]},
    },
    {"name": "a median between two", "args": {"entries": [{"n": 4}, {"n": 1}, {"n": 2}, {"n": 10}], "op": "median", "key": "n"}, "expect": {"ok": True, "value": 3}},
    {"name": "an average", "args": {"entries": [{"n": 1}, {"n": 2}], "op": "avg", "key": "n"}, "expect": {"ok": True, "value": 1.5, "content": "1.5"}},
    {"name": "days between dates", "args": {"entries": [{"d": "2026-01-01"}, {"d": "2026-03-01"}], "op": "range", "key": "d"}, "expect": {"ok": True, "value": 59, "metadata": {"unit": "days"}}},
    {"name": "how many there are", "args": {"entries": [{"n": 1}, {}, {"n": ""}], "op": "count"}, "expect": {"ok": True, "value": 3, "metadata": {"count": 3, "skipped": 0}}},
    {"name": "how many have it", "args": {"entries": [{"n": 1}, {}, {"n": ""}], "op": "count", "key": "n"}, "expect": {"ok": True, "value": 1, "metadata": {"count": 1, "skipped": 2}}},
    {"name": "the sum of nothing", "args": {"entries": [], "op": "sum", "key": "n"}, "expect": {"ok": True, "value": 0, "content": "0"}},
    {"name": "the largest of nothing", "args": {"entries": [], "op": "max", "key": "n"}, "expect": {"ok": True, "value": None, "content": ""}},
    {"name": "beyond 64 bits", "args": {"entries": [{"n": 9223372036854775807}, {"n": 9223372036854775807}], "op": "sum", "key": "n"}, "expect": {"ok": True, "value": 18446744073709551616.0}},
    {
        "name": "the earliest of dates in several notations",
        "args": {"entries": [{"d": "03/04/2024"}, {"d": "2024-03-05"}, {"d": "4 Mar 2024"}, {"d": "25/2/2024"}, {"d": "soon"}, {"d": ""}], "op": "min", "key": "d"},
        "expect": {"ok": True, "content": "25/2/2024", "metadata": {"unit": "date", "skipped": 2}},
    },
    {"name": "no number at all", "args": {"entries": [{"n": "a"}, {"n": "b"}], "op": "sum", "key": "n"}, "expect": {"ok": False, "error_class": "unparseable"}},
    {"name": "an identifier is no amount", "args": {"entries": [{"id": 7, "price": 2, "Year": 2026}, {"id": 8, "price": 3, "Year": 2026}], "op": "sum"}, "expect": {"ok": True, "value": 5, "metadata": {"key": "price"}}},
    {"name": "which of two", "args": {"entries": [{"a": 1, "b": 2, "c": "x"}], "op": "sum"}, "expect": {"ok": False, "error_class": "missing_input", "error": {"$match": "a, b"}}},
    {"name": "a field that is nowhere", "args": {"entries": [{"a": 1}], "op": "sum", "key": "colour"}, "expect": {"ok": False, "error_class": "not_found"}},
]
