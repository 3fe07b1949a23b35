"""Birth cases of filter_entries: data only."""

CASES = [
    {
        "name": "text without case and accents, the field found whatever its spelling",
        "args": {
            "entries": [{"Città ": "Forlì", "n": 1}, {"Città ": "FORLI'", "n": 2}, {"Città ": "forli", "n": 3}, {"n": 4}],
            "where": [{"field": "citta", "op": "eq", "value": "forlì"}],
        },
        "expect": {"ok": True, "entries": [{"n": 1}, {"n": 3}], "metadata": {"count": 2, "total": 4, "truncated": False}},
    },
    {
        "name": "numbers in three notations against one, text is never larger",
        "args": {
            "entries": [{"price": 5}, {"price": "1.234,50"}, {"price": "€ 12,50"}, {"price": "n/a"}, {"price": None}, {"price": "NaN"}, {"price": "Infinity"}, {"price": True}],
            "where": [{"field": "Price", "op": "gt", "value": "10"}],
        },
        "expect": {"ok": True, "entries": [{"price": "1.234,50"}, {"price": "€ 12,50"}]},
    },
    {
        "name": "sizes with a unit",
        "args": {
            "entries": [{"path": "/a/1", "size": 999999}, {"path": "/a/2", "size": 1000000}, {"path": "/a/3", "size": 1048576, "path_b64": "L2EvMw=="}],
            "where": [{"field": "bytes", "op": "between", "value": ["1 MiB", "1 MB"]}],
        },
        "expect": {"ok": True, "entries": [{"path": "/a/2"}, {"path": "/a/3", "path_b64": "L2EvMw=="}], "metadata": {"of": "files", "sizes": ["size"]}},
    },
    {
        "name": "a day counts from its first to its last second, whatever the zone it is written in",
        "args": {
            "entries": [{"when": "2026-03-04T12:00:00Z"}, {"when": "2026-03-05"}, {"when": "2026-03-05T12:00:00+02:00"}, {"when": "2026-03-07T00:00:00Z"}, {"when": "soon"}],
            "where": [{"field": "when", "op": "ge", "value": "2026-03-05"}, {"field": "when", "op": "lt", "value": "2026-03-06T12:00:00Z"}],
        },
        "expect": {"ok": True, "entries": [{"when": "2026-03-05"}, {"when": "2026-03-05T12:00:00+02:00"}]},
    },
    {
        "name": "a year, a month",
        "args": {
            "entries": [{"path": "/a", "modified": "2025-06-15T12:00:00Z"}, {"path": "/b", "modified": "2026-06-15T12:00:00Z"}, {"path": "/c", "modified": "2026-07-15T12:00:00Z"}],
            "where": [{"field": "date", "op": "eq", "value": "2026"}, {"field": "date", "op": "eq", "value": "2026-06"}],
        },
        "expect": {"ok": True, "entries": [{"path": "/b"}]},
    },
    {
        "name": "derived fields of files: extension, folder, type",
        "args": {
            "entries": [{"path": "/d/a.JPG", "kind": "file"}, {"path": "/d/b.txt", "kind": "file"}, {"path": "/e/c.jpg", "kind": "file"}, {"path": "/d/.hidden", "kind": "file"}],
            "where": [{"field": "extension", "op": "eq", "value": "jpg"}, {"field": "cartella", "op": "eq", "value": "/d"}, {"field": "type", "op": "eq", "value": "picture"}],
        },
        "expect": {"ok": True, "entries": [{"path": "/d/a.JPG"}]},
    },
    {
        "name": "any condition, any field, inverted",
        "args": {
            "entries": [{"a": "rent", "b": 1}, {"a": "food", "b": 2}, {"a": "x", "b": "Rent paid"}, {"a": "y"}],
            "where": [{"field": "*", "op": "contains", "value": "RENT"}, {"field": "b", "op": "eq", "value": 2}],
            "any": True,
            "invert": True,
        },
        "expect": {"ok": True, "entries": [{"a": "y"}], "metadata": {"count": 1}},
    },
    {
        "name": "what is missing is empty, and is not equal to anything",
        "args": {"entries": [{"a": ""}, {"a": None}, {}, {"a": 0}, {"a": "x"}], "where": [{"field": "a", "op": "exists"}, {"field": "a", "op": "ne", "value": "x"}]},
        "expect": {"ok": True, "entries": [{"a": 0}]},
    },
    {
        "name": "in a list, beginning, ending, a pattern",
        "args": {
            "entries": [{"a": "Pane"}, {"a": "pasta"}, {"a": "pesce"}, {"a": "uova"}],
            "where": [{"field": "a", "op": "in", "value": ["pane", "PASTA", "uova"]}, {"field": "a", "op": "starts", "value": "P"}, {"field": "a", "op": "regex", "value": "(ne|ta)$"}, {"field": "a", "op": "not_contains", "value": "st"}],
        },
        "expect": {"ok": True, "entries": [{"a": "Pane"}]},
    },
    {
        "name": "dates in several notations; what is no date fits no condition on one, and is counted",
        "args": {"entries": [{"d": "03/04/2024"}, {"d": "2024-03-05"}, {"d": "4 Mar 2024"}, {"d": "25/2/2024"}, {"d": "soon"}, {"d": ""}, {"d": 7}], "where": [{"field": "d", "op": "ge", "value": "2024-03-04"}]},
        "expect": {"ok": True, "entries": [{"d": "03/04/2024"}, {"d": "2024-03-05"}, {"d": "4 Mar 2024"}], "metadata": {"no_date": 2}},
    },
    {
        "name": "a year is a number too",
        "args": {"entries": [{"n": 12.5}, {"n": "12.5"}, {"n": 2500}], "where": [{"field": "n", "op": "lt", "value": 2000}]},
        "expect": {"ok": True, "entries": [{"n": 12.5}, {"n": "12.5"}]},
    },
    {"name": "nothing in, nothing out", "args": {"entries": [], "where": [{"field": "a", "value": 1}]}, "expect": {"ok": True, "entries": [], "metadata": {"count": 0, "total": 0}}},
    {
        "name": "a field that is nowhere is named, with those that are",
        "args": {"entries": [{"Price": 1}, {"Name": "x"}], "where": [{"field": "colour", "value": 1}]},
        "expect": {"ok": False, "error_class": "not_found", "error": {"$match": "«colour».*Price, Name"}},
    },
    {"name": "a broken pattern", "args": {"entries": [{"a": "x"}], "where": [{"field": "a", "op": "regex", "value": "(["}]}, "expect": {"ok": False, "error_class": "invalid_args"}},
    {"name": "between what", "args": {"entries": [{"a": 1}], "where": [{"field": "a", "op": "between", "value": 3}]}, "expect": {"ok": False, "error_class": "invalid_args"}},
    {"name": "no value to compare with", "args": {"entries": [{"a": 1}], "where": [{"field": "a", "op": "gt"}]}, "expect": {"ok": False, "error_class": "missing_input"}},
]
