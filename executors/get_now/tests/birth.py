"""Birth cases of get_now: data only."""

CASES = [
    {
        "name": "own time zone",
        "args": {},
        "expect": {
            "ok": True,
            "content": {"$match": r"^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[+-][0-9]{2}:[0-9]{2}$"},
            "metadata": {"timezone": {"$type": "string"}, "weekday": {"$type": "integer"}, "unix_s": {"$type": "integer"}},
        },
    },
    {
        "name": "UTC by name",
        "args": {"timezone": "UTC"},
        "expect": {"ok": True, "content": {"$match": r"\+00:00$"}, "metadata": {"timezone": "UTC", "utc_offset": "+00:00"}},
    },
    {
        "name": "a zone without summer time",
        "args": {"timezone": "Asia/Kathmandu"},
        "expect": {"ok": True, "content": {"$match": r"\+05:45$"}, "metadata": {"timezone": "Asia/Kathmandu", "utc_offset": "+05:45"}},
    },
    {
        "name": "a zone in other letters, with a space",
        "args": {"timezone": "america/los angeles"},
        "expect": {"ok": True, "metadata": {"timezone": "America/Los_Angeles", "utc_offset": {"$match": "^-0[78]:00$"}}},
    },
    {"name": "an unknown zone", "args": {"timezone": "Europe/Atlantis"}, "expect": {"ok": False, "error_class": "invalid_args"}},
    {"name": "a folder of zones", "args": {"timezone": "Europe"}, "expect": {"ok": False, "error_class": "invalid_args"}},
    {"name": "a path instead of a zone", "args": {"timezone": "../../etc/passwd"}, "expect": {"ok": False, "error_class": "invalid_args"}},
]
