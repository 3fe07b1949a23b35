"""Birth cases of read_files_csv: data only."""

CASES = [
    {
        "name": "numbers and dates are made out, codes stay text",
        "args": {"paths": ["{ws}/in/a.csv"]},
        "files": {"in/a.csv": "day,code,amount,who\n2026-11-01,007,12.50,Ann\n2026-11-02,010,3,Bo\n"},
        "expect": {
            "ok": True,
            "entries": [{"day": "2026-11-01", "code": "007", "amount": 12.5, "who": "Ann"}, {"day": "2026-11-02", "code": "010", "amount": 3, "who": "Bo"}],
            "metadata": {
                "paths": ["{ws}/in/a.csv"],
                "columns": ["day", "code", "amount", "who"],
                "types": {"day": "date", "code": "text", "amount": "number", "who": "text"},
                "count": 2,
                "total_rows": 2,
                "ragged": 0,
                "delimiter": ",",
                "header": True,
                "encoding": "utf-8",
                "lossy": False,
                "truncated": False,
            },
        },
    },
    {
        "name": "semicolons, decimal commas, grouped thousands and a currency",
        "args": {"paths": ["{ws}/in/a.csv"]},
        "files": {"in/a.csv": "voce;importo\npane;€ 2,50\naffitto;€ 1.250,00\nmulta;€ 1.100\n"},
        "expect": {
            "ok": True,
            "entries": [{"voce": "pane", "importo": 2.5}, {"voce": "affitto", "importo": 1250.0}, {"voce": "multa", "importo": 1100}],
            "metadata": {"delimiter": ";", "decimal_comma": ["importo"]},
        },
    },
    {
        "name": "quotes with delimiters, line breaks and quotes inside, CRLF and a mark at the start",
        "args": {"paths": ["{ws}/in/a.csv"]},
        "files": {"in/a.csv": "\ufeffname,text\r\nA,\"one, two\r\nthree\"\r\nB,\"she said \"\"hi\"\"\"\r\n"},
        "expect": {"ok": True, "entries": [{"name": "A", "text": "one, two\r\nthree"}, {"name": "B", "text": "she said \"hi\""}], "metadata": {"total_rows": 2, "columns": ["name", "text"]}},
    },
    {
        "name": "ragged rows: missing cells are null, extra ones are kept, empty ones do not count",
        "args": {"paths": ["{ws}/in/a.csv"]},
        "files": {"in/a.csv": "a,b,c\n1,2,3\n4\n5,6,7,8,9\n1,1,1,,\n\n,,\n"},
        "expect": {
            "ok": True,
            "entries": [{"a": 1, "b": 2, "c": 3}, {"a": 4, "b": None, "c": None}, {"a": 5, "b": 6, "c": 7, "extra": ["8", "9"]}, {"a": 1, "b": 1, "c": 1}],
            "metadata": {"ragged": 2, "total_rows": 4},
        },
    },
    {
        "name": "no header, empty and repeated names",
        "args": {"paths": ["{ws}/in/a.csv", "{ws}/in/b.csv"]},
        "files": {"in/a.csv": "1|x\n2|y\n", "in/b.csv": "n,,n\n3,z,4\n"},
        "expect": {
            "ok": True,
            "entries": [
                {"column 1": 1, "column 2": "x", "file": "{ws}/in/a.csv"},
                {"column 1": 2, "column 2": "y", "file": "{ws}/in/a.csv"},
                {"n": 3, "column 2": "z", "n (2)": 4, "file": "{ws}/in/b.csv"},
            ],
            "metadata": {"total_rows": 3, "columns": ["column 1", "column 2", "n", "n (2)"], "renamed": ["column 2", "n (2)"]},
        },
    },
    {
        "name": "repeated names keep both columns, and none gets the name of a third",
        "args": {"paths": ["{ws}/in/a.csv"]},
        "files": {"in/a.csv": "amount,amount,who,amount (2),\n1,10,x,5,p\n2,20,y,6,q\n"},
        "expect": {
            "ok": True,
            "entries": [
                {"amount": 1, "amount (3)": 10, "who": "x", "amount (2)": 5, "column 5": "p"},
                {"amount": 2, "amount (3)": 20, "who": "y", "amount (2)": 6, "column 5": "q"},
            ],
            "metadata": {"columns": ["amount", "amount (3)", "who", "amount (2)", "column 5"], "renamed": ["amount (3)", "column 5"]},
        },
    },
    {
        "name": "dates in ten notations",
        "args": {"paths": ["{ws}/in/a.csv"]},
        "files": {
            "in/a.csv": "d;n\n2026-11-01;x\n2026/11/02;x\n25/11/2026;x\n3-11-2026;x\n04.11.2026;x\n5/11/26;x\n6 November 2026;x\n7 novembre 2026;x\nNovember 8, 2026;x\n09-Nov-2026;x\nSun, 10 Nov 2026;x\n11/11/2026 10:20;x\n2026-11-12T08:00:00Z;x\n"
        },
        "expect": {
            "ok": True,
            "entries": [
                {"d": "2026-11-01", "n": "x"}, {"d": "2026-11-02"}, {"d": "2026-11-25"}, {"d": "2026-11-03"}, {"d": "2026-11-04"}, {"d": "2026-11-05"}, {"d": "2026-11-06"},
                {"d": "2026-11-07"}, {"d": "2026-11-08"}, {"d": "2026-11-09"}, {"d": "2026-11-10"}, {"d": "2026-11-11T10:20:00"}, {"d": "2026-11-12T08:00:00Z"},
            ],
            "metadata": {"types": {"d": "date", "n": "text"}},
        },
    },
    {
        "name": "a guess about day and month is said",
        "args": {"paths": ["{ws}/in/a.csv"]},
        "files": {"in/a.csv": "d;x\n01/02/2026;a\n03/04/2026;b\n"},
        "expect": {"ok": True, "entries": [{"d": "2026-02-01"}, {"d": "2026-04-03"}], "metadata": {"day_first": ["d"]}},
    },
    {
        "name": "Latin-1",
        "args": {"paths": ["{ws}/in/a.csv"]},
        "files_b64": {"in/a.csv": "bm9tZTtjaXR04DtwcmV6em8NCkNhZmboO0ZvcmzsOzEsNTANCg=="},
        "expect": {"ok": True, "entries": [{"nome": "Caffè", "città": "Forlì", "prezzo": 1.5}], "metadata": {"encoding": "cp1252", "lossy": False}},
    },
    {
        "name": "UTF-16 with tabs",
        "args": {"paths": ["{ws}/in/a.tsv"]},
        "files_b64": {"in/a.tsv": "//5uAGEAbQBlAAkAbgBvAHQAZQAKAFoAbwDrAAkAEycKAA=="},
        "expect": {"ok": True, "entries": [{"name": "Zoë", "note": "✓"}], "metadata": {"encoding": "utf-16-le", "delimiter": "\t"}},
    },
    {
        "name": "a quote that is never closed does not swallow the rest",
        "args": {"paths": ["{ws}/in/a.csv"]},
        "files": {"in/a.csv": "a,b\n1,x\n2,\"y\n3,z\n"},
        "expect": {"ok": True, "entries": [{"a": 1, "b": "x"}, {"a": 2, "b": "\"y"}, {"a": 3, "b": "z"}], "metadata": {"unclosed_quote": True}},
    },
    {
        "name": "one cell that is no number keeps a column text, and is counted",
        "args": {"paths": ["{ws}/in/a.csv"]},
        "files": {"in/a.csv": "n\n1\n2\n3\n4\n5\n6\n7\n8\n9\nn/a\n11\n"},
        "expect": {"ok": True, "metadata": {"types": {"n": "text"}, "mixed": {"n": 1}, "total_rows": 11}},
    },
    {
        "name": "all rows are counted, the first are returned",
        "args": {"paths": ["{ws}/in/a.csv"], "max_rows": 2},
        "files": {"in/a.csv": "a\n1\n2\n3\n4\n"},
        "expect": {"ok": True, "entries": [{"a": 1}, {"a": 2}], "metadata": {"count": 2, "total_rows": 4, "truncated": True, "truncated_by": "max_rows"}},
    },
    {
        "name": "the remarks before an export's table are no rows",
        "args": {"paths": ["{ws}/in/a.csv"]},
        "files": {"in/a.csv": "Account statement\nPeriod;2026\n\nday;text;amount\n1.11.2026;a;1,10\n2.11.2026;b;2,20\n"},
        "expect": {"ok": True, "entries": [{"day": "2026-11-01", "text": "a", "amount": 1.1}, {"amount": 2.2}], "metadata": {"preamble": ["Account statement", "Period 2026"]}},
    },
    {"name": "an empty file", "args": {"paths": ["{ws}/in/a.csv"]}, "files": {"in/a.csv": ""}, "expect": {"ok": True, "entries": [], "metadata": {"columns": [], "total_rows": 0}}},
    {
        "name": "bytes that are no text",
        "args": {"paths": ["{ws}/in/a.csv"]},
        "files_b64": {"in/a.csv": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0BBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6e3x9fn+AgYKDhIWGh4iJiouMjY6PkJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmqq6ytrq+wsbKztLW2t7i5uru8vb6/wMHCw8TFxsfIycrLzM3Oz9DR0tPU1dbX2Nna29zd3t/g4eLj5OXm5+jp6uvs7e7v8PHy8/T19vf4+fr7/P3+/wABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj9AQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVpbXF1eX2BhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ent8fX5/gIGCg4SFhoeIiYqLjI2Oj5CRkpOUlZaXmJmam5ydnp+goaKjpKWmp6ipqqusra6vsLGys7S1tre4ubq7vL2+v8DBwsPExcbHyMnKy8zNzs/Q0dLT1NXW19jZ2tvc3d7f4OHi4+Tl5ufo6err7O3u7/Dx8vP09fb3+Pn6+/z9/v8AAQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAhIiMkJSYnKCkqKywtLi8wMTIzNDU2Nzg5Ojs8PT4/QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaW1xdXl9gYWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1+f4CBgoOEhYaHiImKi4yNjo+QkZKTlJWWl5iZmpucnZ6foKGio6SlpqeoqaqrrK2ur7CxsrO0tba3uLm6u7y9vr/AwcLDxMXGx8jJysvMzc7P0NHS09TV1tfY2drb3N3e3+Dh4uPk5ebn6Onq6+zt7u/w8fLz9PX29/j5+vv8/f7/"},
        "expect": {"ok": False, "error_class": "wrong_type"},
    },
    {"name": "a missing file", "args": {"paths": ["{ws}/nowhere.csv"]}, "expect": {"ok": False, "error_class": "not_found"}},
    {
        "name": "a delimiter that is none",
        "args": {"paths": ["{ws}/in/a.csv"], "delimiter": "ab"},
        "files": {"in/a.csv": "a\n"},
        "expect": {"ok": False, "error_class": "invalid_args"},
    },
]
