"""Birth cases of compress_files: data only."""

CASES = [
    {
        "name": "two files into a zip",
        "args": {"paths": ["{ws}/in/a.txt", "{ws}/in/b.txt"], "dst": "{ws}/out.zip"},
        "files": {"in/a.txt": "aaaa", "in/b.txt": "bb"},
        "expect": {
            "ok": True,
            "effects": [{"op": "write", "path": "{ws}/out.zip", "from": "archive", "if_exists": "fail"}],
            "metadata": {"format": "zip", "files": 2, "folders": 0, "bytes_in": 6, "bytes_out": {"$type": "integer"}, "skipped": []},
        },
    },
    {
        "name": "a whole folder into a tar.gz",
        "args": {"paths": ["{ws}/in"], "dst": "{ws}/out.tar.gz"},
        "files": {"in/a.txt": "aaaa", "in/deep/b 🐈.txt": "bb"},
        "expect": {"ok": True, "metadata": {"format": "tar.gz", "files": 2, "folders": 2, "bytes_in": 6}},
    },
    {
        "name": "what lies in another is packed once",
        "args": {"entries": [{"path": "{ws}/in/a.txt"}, {"path": "{ws}/in"}], "dst": "{ws}/x.TGZ", "if_exists": "replace"},
        "files": {"in/a.txt": "aaaa"},
        "expect": {"ok": True, "effects": [{"if_exists": "replace"}], "metadata": {"format": "tar.gz", "files": 1, "folders": 1}},
    },
    {
        "name": "the archive of before is left out of the folder that holds it",
        "args": {"paths": ["{ws}/in"], "dst": "{ws}/in/all.zip", "if_exists": "replace"},
        "files": {"in/a.txt": "aaaa", "in/all.zip": "old"},
        "expect": {"ok": True, "metadata": {"files": 1, "left_out": 1, "skipped": [{"path": "{ws}/in/all.zip", "error_class": "wrong_type", "error": "$any"}]}},
    },
    {
        "name": "one of them is gone",
        "args": {"entries": [{"path": "{ws}/in/a.txt"}, {"path": "{ws}/in/gone.txt"}], "dst": "{ws}/out.zip"},
        "files": {"in/a.txt": "aaaa"},
        "expect": {"ok": True, "metadata": {"files": 1, "left_out": 1, "skipped": [{"path": "{ws}/in/gone.txt", "error_class": "not_found", "error": "$any"}]}},
    },
    {
        "name": "no archive where one that was named is not there",
        "args": {"paths": ["{ws}/in/a.txt", "{ws}/in/gone.txt"], "dst": "{ws}/out.zip"},
        "files": {"in/a.txt": "aaaa"},
        "expect": {"ok": False, "error_class": "missing_input", "error": {"$match": "in/gone.txt is not there.*none was made"}},
    },
    {"name": "an empty file", "args": {"paths": ["{ws}/in/a"], "dst": "{ws}/o", "format": "zip"}, "files": {"in/a": ""}, "expect": {"ok": True, "metadata": {"files": 1, "bytes_in": 0}}},
    {"name": "no known ending", "args": {"paths": ["{ws}/in/a"], "dst": "{ws}/out.7z"}, "files": {"in/a": "x"}, "expect": {"ok": False, "error_class": "invalid_args"}},
    {"name": "ending and format differ", "args": {"paths": ["{ws}/in/a"], "dst": "{ws}/out.zip", "format": "tar.gz"}, "files": {"in/a": "x"}, "expect": {"ok": False, "error_class": "invalid_args"}},
    {"name": "nothing found", "args": {"entries": [], "dst": "{ws}/out.zip"}, "expect": {"ok": False, "error_class": "not_found"}},
    {"name": "all of it is gone", "args": {"entries": [{"path": "{ws}/gone"}], "dst": "{ws}/out.zip"}, "expect": {"ok": False, "error_class": "not_found"}},
]
