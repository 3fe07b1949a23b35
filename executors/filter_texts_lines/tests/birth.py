"""Birth cases of filter_texts_lines: data only."""

CASES = [
    {
        "name": "lines that hold a text, whatever the capitals",
        "args": {"content": "Sent to Ann\nbounced: Bob\nBOUNCED again\n", "substring": "Bounced"},
        "expect": {
            "ok": True,
            "content": "bounced: Bob\nBOUNCED again",
            "entries": [{"line": 2, "text": "bounced: Bob"}, {"line": 3, "text": "BOUNCED again"}],
            "metadata": {"count": 2, "total_lines": 3, "truncated": False},
        },
    },
    {
        "name": "capitals matter when asked",
        "args": {"content": "Rome\nrome", "substring": "rome", "ignore_case": False},
        "expect": {"ok": True, "content": "rome", "metadata": {"count": 1, "total_lines": 2}},
    },
    {
        "name": "the last lines, CRLF and no break at the end",
        "args": {"content": "a\r\nb\r\n\r\nc", "tail": 3},
        "expect": {"ok": True, "content": "b\n\nc", "entries": [{"line": 2}, {"line": 3, "text": ""}, {"line": 4}], "metadata": {"count": 3, "total_lines": 4}},
    },
    {
        "name": "the last of those that match",
        "args": {"content": "x1\ny\nx2\nx3\n", "regex": "^x[0-9]$", "tail": 2},
        "expect": {"ok": True, "content": "x2\nx3", "entries": [{"line": 3}, {"line": 4}]},
    },
    {
        "name": "a range that counts from the end",
        "args": {"content": "1\n2\n3\n4\n5\n", "range": {"start": 2, "end": -2}},
        "expect": {"ok": True, "content": "2\n3\n4"},
    },
    {
        "name": "the lines that do not match",
        "args": {"content": "a #x\nb\nc #y", "substring": "#", "invert": True},
        "expect": {"ok": True, "content": "b", "metadata": {"count": 1}},
    },
    {
        "name": "all but the first line",
        "args": {"content": "title\na\nb", "head": 1, "invert": True},
        "expect": {"ok": True, "content": "a\nb"},
    },
    {
        "name": "nothing matches",
        "args": {"content": "a\nb\n", "substring": "z"},
        "expect": {"ok": True, "content": "", "entries": [], "metadata": {"count": 0, "total_lines": 2}},
    },
    {
        "name": "an empty text",
        "args": {"content": "", "tail": 3},
        "expect": {"ok": True, "content": "", "entries": [], "metadata": {"count": 0, "total_lines": 0}},
    },
    {"name": "a wrong regular expression", "args": {"content": "a", "regex": "(a"}, "expect": {"ok": False, "error_class": "invalid_args"}},
    {"name": "there is no line 0", "args": {"content": "a", "range": {"start": 0}}, "expect": {"ok": False, "error_class": "invalid_args"}},
    {"name": "nothing said about which lines", "args": {"content": "a"}, "expect": {"ok": False, "error_class": "invalid_args"}},
    {
        "name": "the lines of several files",
        "args": {
            "entries": [{"path": "/a.txt", "content": "red\nblue"}, {"path": "/b.txt", "content": "green\nred wine"}, {"path": "/c.bin"}],
            "substring": "RED",
        },
        "expect": {
            "ok": True,
            "content": "/a.txt:\n  1: red\n/b.txt:\n  2: red wine",
            "entries": [{"path": "/a.txt", "line": 1, "text": "red"}, {"path": "/b.txt", "line": 2, "text": "red wine"}],
            "metadata": {"count": 2, "total_lines": 4, "numbered": 2, "truncated": False, "files": 2, "looked_at": 2},
        },
    },
    {
        "name": "no file holds it",
        "args": {"entries": [{"path": "/a.txt", "content": "red"}], "substring": "z"},
        "expect": {"ok": True, "content": "", "entries": [], "metadata": {"count": 0, "files": 0, "looked_at": 1}},
    },
]
