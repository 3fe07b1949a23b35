"""Birth cases of describe_numbers: data only."""

CASES = [
    {
        "name": "all measures, some values no numbers",
        "args": {"numbers": [1, 2, 3.5, "4,5", "x", None, "NaN"]},
        "expect": {
            "ok": True,
            "content": {"$match": "^4 numbers, 3 values are no numbers:\\nsum  +11\\nmean  +2.75\\n"},
            "metadata": {"count": 4, "skipped": 3, "sum": 11, "mean": 2.75, "median": 2.75, "min": 1, "max": 4.5, "stdev": {"$type": "number"}, "quartiles": [1.75, 2.75, 3.75]},
        },
    },
    {"name": "one number has no deviation", "args": {"numbers": [7]}, "expect": {"ok": True, "metadata": {"count": 1, "mean": 7, "median": 7, "stdev": None, "quartiles": [7, 7, 7]}}},
    {
        "name": "the sizes of files, the field not named",
        "args": {"entries": [{"path": "/a", "size": 1000000}, {"path": "/b", "size": 3000000}]},
        "expect": {"ok": True, "content": {"$match": "2 numbers in «size»:\\nsum  +4.0 MB"}, "metadata": {"key": "size", "unit": "bytes", "mean": 2000000}},
    },
    {
        "name": "a column in Italian notation",
        "args": {"entries": [{"Importo": "1.000"}, {"Importo": "0,50"}, {"Importo": ""}], "key": "importo"},
        "expect": {"ok": True, "metadata": {"count": 2, "sum": 1000.5, "skipped": 1}},
    },
    {"name": "equal numbers do not deviate", "args": {"numbers": [0.1, 0.1, 0.1]}, "expect": {"ok": True, "metadata": {"sum": 0.3, "mean": 0.1, "median": 0.1}}},
    {"name": "no numbers", "args": {"numbers": []}, "expect": {"ok": False, "error_class": "missing_input"}},
    {"name": "nothing but text", "args": {"numbers": ["a", "Infinity"]}, "expect": {"ok": False, "error_class": "unparseable"}},
    {"name": "larger than any number", "args": {"numbers": [1e308, 1e308]}, "expect": {"ok": False, "error_class": "too_large"}},
    {"name": "a field that is nowhere", "args": {"entries": [{"a": 1}], "key": "colour"}, "expect": {"ok": False, "error_class": "not_found"}},
]
