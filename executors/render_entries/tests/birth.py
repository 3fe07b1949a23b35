"""Birth cases of render_entries: data only."""

CASES = [
    {
        "name": "a table: numbers right, ragged rows, wide signs",
        "args": {"entries": [{"item": "tea", "price": 2.5}, {"item": "日本", "price": 1234.25, "note": "x"}, {"price": None}], "title": "Shop"},
        "expect": {"ok": True, "content": "Shop\n\nitem     price  note\n----  --------  ----\ntea       2.50\n日本  1,234.25  x\n\n", "metadata": {"count": 3, "columns": ["item", "price", "note"], "format": "table", "truncated": False}},
    },
    {
        "name": "a narrow table: what is long is cut, what does not fit is named",
        "args": {"entries": [{"a": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "b": "yyyyyyyyyyyyyyyy", "c": "zzzzzzzzzzzz"}], "width": 20},
        "expect": {"ok": True, "content": "a          b\n---------  ---------\nxxxxxxxx…  yyyyyyyy…\n[1 more column: c]\n"},
    },
    {
        "name": "Markdown: no cell is markup, an address stays an address",
        "args": {"entries": [{"a": "x|y *b* <i>", "u": "https://x.test/a_b|c"}, {"a": "two\nlines", "u": 1}], "format": "markdown"},
        "expect": {"ok": True, "content": "| a | u |\n| --- | --- |\n| x\\|y \\*b\\* &lt;i&gt; | https://x.test/a_b%7Cc |\n| two<br>lines | 1 |\n"},
    },
    {
        "name": "CSV: quoted where it must be, formulas harmless, numbers as they are",
        "args": {"entries": [{"n": "a,\"b\"", "v": -1.5}, {"n": "=1+1", "v": "-2"}, {"n": "@x", "v": "-cmd"}, {"n": "two\nlines", "v": True}], "format": "csv", "columns": ["v", "n"]},
        "expect": {"ok": True, "content": "v,n\n-1.5,\"a,\"\"b\"\"\"\n-2,'=1+1\n'-cmd,'@x\ntrue,\"two\nlines\"\n"},
    },
    {
        "name": "a list of files",
        "args": {"entries": [{"path": "/a/b", "size": 2100000, "modified": "2026-01-01T00:00:00Z"}], "format": "list"},
        "expect": {"ok": True, "content": "- /a/b (2.1 MB)\n"},
    },
    {
        "name": "a bar chart, negative bars too, its texts escaped",
        "args": {"entries": [{"who": "<A & B>", "v": 10}, {"who": "C", "v": "-5"}, {"who": "D", "v": "none"}], "format": "svg", "title": "T"},
        "expect": {"ok": True, "content": {"$match": "^<svg (.|\\n)*&lt;A &amp; B&gt;(.|\\n)*</svg>\\n$"}, "metadata": {"count": 3, "shown": 2, "truncated": True, "columns": ["who", "v"]}},
    },
    {"name": "no numbers to draw", "args": {"entries": [{"a": "x"}], "format": "svg"}, "expect": {"ok": False, "error_class": "unparseable"}},
    {"name": "an empty list", "args": {"entries": [], "format": "table"}, "expect": {"ok": True, "content": "The list is empty.", "metadata": {"count": 0}}},
    {"name": "an empty list as CSV with its columns", "args": {"entries": [], "format": "csv", "columns": ["a", "b"]}, "expect": {"ok": True, "content": "a,b\n"}},
    {"name": "a column that is nowhere", "args": {"entries": [{"a": 1}], "columns": ["colour"]}, "expect": {"ok": False, "error_class": "not_found"}},
]
