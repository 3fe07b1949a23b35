"""Birth cases of extract_entries: data only."""

CASES = [
    {
        "name": "a field of a JSON reply",
        "args": {"content": "{\"uuid\": \"0d7c1d2e-5f3a-4b6c-8d9e-0a1b2c3d4e5f\", \"other\": 1}", "fields": ["UUID"], "form": "uuid"},
        "expect": {
            "ok": True,
            "entries": [{"UUID": "0d7c1d2e-5f3a-4b6c-8d9e-0a1b2c3d4e5f"}],
            "content": "0d7c1d2e-5f3a-4b6c-8d9e-0a1b2c3d4e5f",
            "metadata": {"count": 1, "by": "field"},
        },
    },
    {
        "name": "a field whose name is written otherwise",
        "args": {"content": "{\"user-agent\": \"metnos/1\"}", "fields": ["user agent"]},
        "expect": {"ok": True, "entries": [{"user agent": "metnos/1"}], "metadata": {"by": "field"}},
    },
    {
        "name": "the exact name first, then the nearest to the root",
        "args": {"content": "{\"ID\": 0, \"a\": {\"id\": 1, \"b\": {\"id\": 2}}}", "fields": ["id"]},
        "expect": {"ok": True, "entries": [{"id": 1}]},
    },
    {
        "name": "fields of each object of a list",
        "args": {"content": "[{\"name\": \"A\", \"n\": 1, \"x\": 0}, {\"name\": \"B\", \"n\": 2.5}]", "fields": ["name", "n"]},
        "expect": {"ok": True, "entries": [{"name": "A", "n": 1}, {"name": "B", "n": 2.5}], "content": "A\n1\nB\n2.5"},
    },
    {
        "name": "the form, where no field has that name",
        "args": {"content": "id=0D7C1D2E-5F3A-4B6C-8D9E-0A1B2C3D4E5F; not 0d7c1d2e-5f3a", "fields": ["uuid"], "form": "uuid"},
        "expect": {"ok": True, "entries": [{"uuid": "0D7C1D2E-5F3A-4B6C-8D9E-0A1B2C3D4E5F"}], "metadata": {"by": "form"}},
    },
    {
        "name": "addresses in prose, each once",
        "args": {"content": "Write to ann@example.org, or (bob.b+x@mail.example.com). Again: ann@example.org.", "form": "email"},
        "expect": {"ok": True, "content": "ann@example.org\nbob.b+x@mail.example.com", "metadata": {"count": 2}},
    },
    {
        "name": "addresses of pages without the sentence's punctuation",
        "args": {"content": "See https://example.org/a_(b), http://example.org/?q=1.", "form": "url"},
        "expect": {"ok": True, "content": "https://example.org/a_(b)\nhttp://example.org/?q=1"},
    },
    {
        "name": "the first group of a pattern",
        "args": {"content": "total: 12\ntotal: 30\n", "pattern": "^total: (\\d+)$"},
        "expect": {"ok": True, "entries": [{"match": "12"}, {"match": "30"}], "metadata": {"by": "pattern"}},
    },
    {
        "name": "a JSON path",
        "args": {"content": "{\"a\": [{\"b\": 1}, {\"b\": [2, 3]}]}", "json_path": "$.a[*].b"},
        "expect": {"ok": True, "entries": [{"b": 1}, {"b": [2, 3]}], "content": "1\n[2, 3]", "metadata": {"by": "json_path"}},
    },
    {
        "name": "fields of entries",
        "args": {"entries": [{"path": "/a", "size": 3}, {"path": "/b", "size": 4}], "fields": ["size"]},
        "expect": {"ok": True, "entries": [{"size": 3}, {"size": 4}], "content": "3\n4"},
    },
    {
        "name": "nothing found",
        "args": {"content": "no address here", "form": "email"},
        "expect": {"ok": False, "error_class": "not_found", "error": {"$match": "email"}},
    },
    {"name": "a path into what is no JSON", "args": {"content": "plain", "json_path": "$.a"}, "expect": {"ok": False, "error_class": "unparseable"}},
    {"name": "a wrong pattern", "args": {"content": "a", "pattern": "(a"}, "expect": {"ok": False, "error_class": "invalid_args"}},
]
