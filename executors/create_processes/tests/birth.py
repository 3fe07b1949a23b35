"""Birth cases of create_processes: data only. They use programs that every system has (coreutils)."""

CASES = [
    {
        "name": "what a program writes, and that it went well",
        "args": {"argv": ["echo", "hello", "there"]},
        "expect": {"ok": True, "content": "hello there\n", "metadata": {"program": "echo", "exit_code": 0, "stderr": "", "truncated": False, "bytes": 12}},
    },
    {
        "name": "no sign means anything to a shell, since there is none",
        "args": {"argv": ["echo", "$HOME", "`date`", "a; b", "*", ">x", "&&"]},
        "expect": {"ok": True, "content": "$HOME `date` a; b * >x &&\n"},
    },
    {
        "name": "it works in the folder and sees its files",
        "args": {"argv": ["wc", "-l", "a.txt"], "folder": "{ws}/in"},
        "files": {"in/a.txt": "1\n2\n3\n"},
        "expect": {"ok": True, "content": {"$match": "3 a.txt"}, "metadata": {"exit_code": 0}},
    },
    {
        "name": "text for its standard input",
        "args": {"argv": ["sort", "-r"], "stdin": "a\nc\nb\n"},
        "expect": {"ok": True, "content": "c\nb\na\n"},
    },
    {
        "name": "an exit code that is not 0 is told with what was said",
        "args": {"argv": ["wc", "nowhere.txt"], "folder": "{ws}/in"},
        "files": {"in/a.txt": "1"},
        "expect": {"ok": True, "content": "", "metadata": {"exit_code": 1, "stderr": {"$match": "nowhere.txt"}}},
    },
    {
        "name": "a path outside of the folder is not seen, and that is said",
        "args": {"argv": ["wc", "{ws}/other/b.txt"], "folder": "{ws}/in"},
        "files": {"in/a.txt": "1", "other/b.txt": "2"},
        "expect": {"ok": True, "metadata": {"exit_code": 1, "unseen": ["{ws}/other/b.txt"]}},
    },
    {
        "name": "much output is cut and counted",
        "args": {"argv": ["seq", "1", "400000"]},
        "expect": {"ok": True, "content": {"$match": "^1\n2\n"}, "metadata": {"truncated": True, "bytes": 2688895, "exit_code": 0}},
    },
    {
        "name": "nothing can be changed in the folder",
        "args": {"argv": ["sort", "-o", "a.txt", "a.txt"], "folder": "{ws}/in"},
        "files": {"in/a.txt": "b\na\n"},
        "expect": {"ok": True, "metadata": {"exit_code": 2, "stderr": {"$match": "a.txt"}}},
    },
    {"name": "a shell", "args": {"argv": ["sh", "-c", "echo hi"]}, "expect": {"ok": False, "error_class": "policy_violation"}},
    {"name": "a program by its path", "args": {"argv": ["/bin/echo", "hi"]}, "expect": {"ok": False, "error_class": "policy_violation"}},
    {"name": "a line instead of a list", "args": {"argv": ["echo hi"]}, "expect": {"ok": False, "error_class": "policy_violation", "error": {"$match": "stands for itself"}}},
    {"name": "nothing to run", "args": {"argv": []}, "expect": {"ok": False, "error_class": "invalid_args"}},
]
