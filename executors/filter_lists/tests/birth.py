"""Birth cases of filter_lists: data only."""

CASES = [
    {
        "name": "files in both, by path, with the fields of the first",
        "args": {"first": [{"path": "/a", "size": 1}, {"path": "/b", "size": 2}], "second": [{"path": "/b", "size": 99}, {"path": "/c"}], "op": "intersect"},
        "expect": {"ok": True, "entries": [{"path": "/b", "size": 2}], "metadata": {"count": 1, "first": 2, "second": 2, "by": "path", "truncated": False}},
    },
    {
        "name": "only in the first, by a field found whatever its spelling in either list",
        "args": {"first": [{"Codice": "A1"}, {"Codice": "B2"}, {"note": "no code"}], "second": [{"codice ": "A1"}], "op": "difference", "key": "codice"},
        "expect": {"ok": True, "entries": [{"Codice": "B2"}, {"note": "no code"}], "metadata": {"by": "codice"}},
    },
    {
        "name": "either list, each thing once, in order; 1 and 1.0 are one number",
        "args": {"first": [{"a": 1}, {"a": 2}, {"a": 1.0}], "second": [{"a": 3}, {"a": 2.0}, {"a": "2"}], "op": "union"},
        "expect": {"ok": True, "entries": [{"a": 1}, {"a": 2}, {"a": 3}, {"a": "2"}], "metadata": {"by": "value"}},
    },
    {
        "name": "names that only look alike are told apart by their bytes",
        "args": {"first": [{"path": "/\ufffd", "path_b64": "L/8="}, {"path": "/\ufffd", "path_b64": "L/4="}], "second": [{"path": "/\ufffd", "path_b64": "L/8="}], "op": "difference"},
        "expect": {"ok": True, "entries": [{"path_b64": "L/4="}]},
    },
    {
        "name": "lists, objects and nothing as keys",
        "args": {"first": [{"k": [1, 2]}, {"k": {"b": 1, "a": 2}}, {"k": None}], "second": [{"k": {"a": 2, "b": 1}}, {"k": [2, 1]}, {"k": None}], "op": "intersect", "key": "k"},
        "expect": {"ok": True, "entries": [{"k": {"b": 1, "a": 2}}]},
    },
    {"name": "two empty lists", "args": {"first": [], "second": [], "op": "union"}, "expect": {"ok": True, "entries": [], "metadata": {"count": 0, "first": 0, "second": 0}}},
    {"name": "one empty list, with a key", "args": {"first": [{"a": 1}], "second": [], "op": "difference", "key": "a"}, "expect": {"ok": True, "entries": [{"a": 1}]}},
    {"name": "a field that one list lacks", "args": {"first": [{"a": 1}], "second": [{"b": 1}], "op": "intersect", "key": "a"}, "expect": {"ok": False, "error_class": "not_found", "error": {"$match": "«a».*b"}}},
    {"name": "a field without a name", "args": {"first": [{"a": 1}], "second": [{"a": 1}], "op": "intersect", "key": " "}, "expect": {"ok": False, "error_class": "invalid_args"}},
]
