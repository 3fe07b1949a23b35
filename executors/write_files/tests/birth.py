"""Birth cases of write_files: data only."""

CASES = [
    {
        "name": "one file",
        "args": {"path": "{ws}/out/a.txt", "content": "caffè\n"},
        "expect": {
            "ok": True,
            "effects": [{"op": "write", "path": "{ws}/out/a.txt", "from": "file-1", "if_exists": "replace"}],
            "staged": {"file-1": "caffè\n"},
            "results": [{"path": "{ws}/out/a.txt", "bytes": 7}],
            "ok_count": 1,
            "fail_count": 0,
            "bytes_written": 7,
        },
    },
    {
        "name": "appending",
        "args": {"path": "{ws}/log.txt", "content": "rent paid", "mode": "append"},
        "expect": {"ok": True, "effects": [{"op": "append", "path": "{ws}/log.txt", "from": "file-1"}], "staged": {"file-1": "rent paid"}, "bytes_written": 9},
    },
    {
        "name": "appending a line",
        "args": {"path": "{ws}/log.txt", "content": "rent paid", "mode": "append", "newline": True},
        "expect": {"ok": True, "staged": {"file-1": "rent paid\n"}, "bytes_written": 10},
    },
    {
        "name": "only where there is none",
        "args": {"path": "{ws}/new.txt", "content": "", "mode": "create"},
        "expect": {"ok": True, "effects": [{"op": "write", "if_exists": "fail"}], "staged": {"file-1": ""}, "bytes_written": 0},
    },
    {
        "name": "several files with odd names",
        "args": {"files": [{"path": "{ws}/it's \"one\".txt", "content": "1"}, {"path": "{ws}/two\nlines 🐈.txt", "content": "22"}]},
        "expect": {
            "ok": True,
            "effects": [{"path": "{ws}/it's \"one\".txt", "from": "file-1"}, {"path": "{ws}/two\nlines 🐈.txt", "from": "file-2"}],
            "staged": {"file-1": "1", "file-2": "22"},
            "ok_count": 2,
            "bytes_written": 3,
        },
    },
    {
        "name": "the file itself is not touched",
        "args": {"path": "{ws}/in/a.txt", "content": "new"},
        "files": {"in/a.txt": "old"},
        "expect": {"ok": True, "effects": [{"op": "write", "path": "{ws}/in/a.txt"}], "bytes_written": 3},
    },
    {
        "name": "entries as CSV, safe from formulas",
        "args": {"path": "{ws}/a.csv", "entries": [{"name": "a, b", "n": 1.5}, {"name": "=1+1", "n": -2, "more": "è"}]},
        "expect": {"ok": True, "staged": {"file-1": "n,name,more\n1.5,\"a, b\",\n-2,'=1+1,è\n"}, "metadata": {"entries": 2}},
    },
    {
        "name": "entries as a Markdown table with chosen columns",
        "args": {"path": "{ws}/a.md", "columns": ["n", "name"], "entries": [{"name": "a|b", "n": 2.0}, {"name": "two\nlines"}]},
        "expect": {"ok": True, "staged": {"file-1": "| n | name |\n| --- | --- |\n| 2 | a\\|b |\n|  | two<br>lines |\n"}},
    },
    {
        "name": "found files as a list of paths",
        "args": {"path": "{ws}/a.txt", "entries": [{"path": "/x/a", "name": "a", "size": 1}, {"path": "/x/b", "name": "b", "size": 2}]},
        "expect": {"ok": True, "staged": {"file-1": "/x/a\n/x/b\n"}, "bytes_written": 10},
    },
    {
        "name": "found files as a report",
        "args": {"path": "{ws}/a.md", "entries": [{"path": "/x/a", "name": "a", "kind": "file", "size": 2100000, "modified": "2026-03-05T23:30:00Z"}, {"path": "/x/b", "name": "b", "kind": "file", "size": 1, "modified": None}]},
        "expect": {"ok": True, "staged": {"file-1": {"$match": r"^\| path \| size \| modified \|\n.*\n\| /x/a \| 2\.1 MB \| [56] Mar 2026 \d\d:\d\d \|\n\| /x/b \| 1 B \|  \|\n\n2 files, 2\.1 MB in all\.\n$"}}},
    },
    {
        "name": "found files as CSV",
        "args": {"path": "{ws}/a.csv", "entries": [{"path": "/x/a", "name": "a", "kind": "dir", "size": 21, "modified": "2026-03-05T23:30:00Z"}]},
        "expect": {"ok": True, "staged": {"file-1": {"$match": r"^path,size \(bytes\),modified,kind\n/x/a,21,2026-03-0[56] \d\d:30:00,dir\n$"}}},
    },
    {
        "name": "groups as a report",
        "args": {"path": "{ws}/a.md", "entries": [{"category": "food", "count": 2, "sum_amount": 1019.75}, {"category": "car", "count": 1, "sum_amount": 40}]},
        "expect": {"ok": True, "staged": {"file-1": "| category | count | sum of amount |\n| --- | --- | --- |\n| food | 2 | 1,019.75 |\n| car | 1 | 40.00 |\n"}},
    },
    {
        "name": "rows keep the names of their columns",
        "args": {"path": "{ws}/a.md", "entries": [{"month": "x", "ratio": 1e300, "size": 38, "when": "2026-03-05"}]},
        "expect": {"ok": True, "staged": {"file-1": "| month | ratio | size | when |\n| --- | --- | --- | --- |\n| x | 1e+300 | 38 | 5 Mar 2026 |\n"}},
    },
    {
        "name": "no entries as JSON",
        "args": {"path": "{ws}/a.json", "entries": []},
        "expect": {"ok": True, "staged": {"file-1": "[]\n"}},
    },
    {
        "name": "entries beside a text",
        "args": {"path": "{ws}/a.csv", "content": "x", "entries": []},
        "expect": {"ok": False, "error_class": "invalid_args"},
    },
    {
        "name": "one path twice",
        "args": {"files": [{"path": "{ws}/a", "content": "1"}, {"path": "{ws}/a", "content": "2"}]},
        "expect": {"ok": False, "error_class": "invalid_args"},
    },
    {"name": "a folder's name", "args": {"path": "{ws}/out/", "content": "x"}, "expect": {"ok": False, "error_class": "wrong_type"}},
    {
        "name": "both ways at once",
        "args": {"path": "{ws}/a", "content": "x", "files": [{"path": "{ws}/b", "content": "y"}]},
        "expect": {"ok": False, "error_class": "invalid_args"},
    },
]
