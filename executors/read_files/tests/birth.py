"""Birth cases of read_files: data only."""

CASES = [
    {
        "name": "a whole file",
        "args": {"paths": ["{ws}/in/a.txt"]},
        "files": {"in/a.txt": "one\ntwo\nthree\n"},
        "expect": {
            "ok": True,
            "content": "one\ntwo\nthree\n",
            "metadata": {"path": "{ws}/in/a.txt", "size": 14, "encoding": "utf-8", "lossy": False, "lines": 3, "total_lines": 3, "truncated": False, "binary": False},
        },
    },
    {
        "name": "the last lines, the last of them without a break",
        "args": {"paths": ["{ws}/in/a.txt"], "tail_lines": 2},
        "files": {"in/a.txt": "one\r\ntwo\r\nthree"},
        "expect": {"ok": True, "content": "two\nthree", "metadata": {"lines": 2, "total_lines": 3, "truncated": False}},
    },
    {
        "name": "the first lines, more than there are",
        "args": {"paths": ["{ws}/in/a.txt"], "head_lines": 9},
        "files": {"in/a.txt": "one\n\na\rb\n"},
        "expect": {"ok": True, "content": "one\n\na\rb", "metadata": {"lines": 3, "total_lines": 3}},
    },
    {
        "name": "the tail of UTF-16 with a mark",
        "args": {"paths": ["{ws}/in/w.txt"], "tail_lines": 1},
        "files_b64": {"in/w.txt": "//5wAHIAaQBtAGEAIAByAGkAZwBhAA0ACgBzAGUAYwBvAG4AZADgACAAPdgI3A0ACgA="},
        "expect": {"ok": True, "content": "secondà 🐈", "metadata": {"encoding": "utf-16-le", "lossy": False, "lines": 1, "total_lines": 2}},
    },
    {
        "name": "bytes that are no UTF-8 are Western European text, and it says so",
        "args": {"paths": ["{ws}/in/l.txt"]},
        "files_b64": {"in/l.txt": "Y2FmZugKb2sK"},
        "expect": {"ok": True, "content": "caffè\nok\n", "metadata": {"lossy": False, "guessed": True, "encoding": "latin-1", "lines": 2}},
    },
    {
        "name": "a euro sign as Windows writes it, in the last line",
        "args": {"paths": ["{ws}/in/l.txt"], "tail_lines": 1},
        "files_b64": {"in/l.txt": "YWJjCrBDIIAgNSwwMA=="},
        "expect": {"ok": True, "content": "°C € 5,00", "metadata": {"lossy": False, "guessed": True, "encoding": "cp1252", "lines": 1}},
    },
    {
        "name": "UTF-8 with a fault stays UTF-8",
        "args": {"paths": ["{ws}/in/l.txt"]},
        "files_b64": {"in/l.txt": "Y2FmZsOoIP9vawo="},
        "expect": {"ok": True, "content": "caffè \ufffdok\n", "metadata": {"lossy": True, "encoding": "utf-8"}},
    },
    {
        "name": "bytes that are no text of any kind stay marked",
        "args": {"paths": ["{ws}/in/l.txt"]},
        "files_b64": {"in/l.txt": "YQECA/8K"},
        "expect": {"ok": True, "metadata": {"lossy": True, "encoding": "utf-8"}},
    },
    {
        "name": "the same bytes as Latin-1",
        "args": {"paths": ["{ws}/in/l.txt"], "encoding": "latin-1"},
        "files_b64": {"in/l.txt": "Y2FmZugKb2sK"},
        "expect": {"ok": True, "content": "caffè\nok\n", "metadata": {"lossy": False}},
    },
    {
        "name": "binary data",
        "args": {"paths": ["{ws}/in/x.bin"]},
        "files_b64": {"in/x.bin": "f0VMRgABAg=="},
        "expect": {"ok": False, "error_class": "wrong_type", "content": "", "metadata": {"binary": True, "size": 7}},
    },
    {
        "name": "an empty file",
        "args": {"paths": ["{ws}/in/e.txt"]},
        "files": {"in/e.txt": ""},
        "expect": {"ok": True, "content": "", "metadata": {"size": 0, "lines": 0, "total_lines": 0}},
    },
    {
        "name": "cut at a character's border",
        "args": {"paths": ["{ws}/in/a.txt"], "max_bytes": 4},
        "files": {"in/a.txt": "abcèdef"},
        "expect": {"ok": True, "content": "abc", "metadata": {"truncated": True, "lossy": False, "size": 8}},
    },
    {
        "name": "JSON as a value",
        "args": {"paths": ["{ws}/in/a.json"], "parse": "json"},
        "files": {"in/a.json": "{\"a\": [1, 2.5, null]}"},
        "expect": {"ok": True, "data": {"a": [1, 2.5, None]}},
    },
    {
        "name": "JSON that is none",
        "args": {"paths": ["{ws}/in/a.json"], "parse": "json"},
        "files": {"in/a.json": "{\"a\": NaN}"},
        "expect": {"ok": False, "error_class": "unparseable"},
    },
    {
        "name": "several files, one of them missing",
        "args": {"entries": [{"path": "{ws}/in/a b.txt"}, {"path": "{ws}/in/none"}, {"path": "{ws}/in/c.txt", "kind": "file"}]},
        "files": {"in/a b.txt": "A\n", "in/c.txt": "C"},
        "expect": {
            "ok": True,
            "entries": [{"name": "a b.txt", "content": "A\n", "lines": 1}, {"name": "c.txt", "content": "C"}],
            "errors": [{"path": "{ws}/in/none", "error_class": "not_found"}],
            "metadata": {"count": 2, "failed": 1, "left_out": 0},
        },
    },
    {"name": "a missing file", "args": {"paths": ["{ws}/none.txt"]}, "expect": {"ok": False, "error_class": "not_found"}},
    {
        "name": "a folder",
        "args": {"paths": ["{ws}/in"]},
        "files": {"in/a.txt": "a"},
        "expect": {"ok": False, "error_class": "wrong_type"},
    },
]
