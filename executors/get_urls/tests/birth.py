"""Birth cases of get_urls: data only."""

CASES = [
    {
        "name": "JSON",
        "args": {"urls": ["https://x.test/uuid"]},
        "http": {"https://x.test/uuid": {"status": 200, "headers": {"content-type": "application/json"}, "body": "{\"uuid\": \"è\"}"}},
        "expect": {
            "ok": True,
            "content": "{\"uuid\": \"è\"}",
            "metadata": {"url": "https://x.test/uuid", "status": 200, "content_type": "application/json", "bytes": 14, "lossy": False, "truncated": False, "binary": False},
        },
    },
    {
        "name": "Latin-1 by the header",
        "args": {"urls": ["http://x.test/a"]},
        "http": {"http://x.test/a": {"status": 200, "headers": {"content-type": "text/plain; charset=ISO-8859-1"}, "body_b64": "Y2FmZug="}},
        "expect": {"ok": True, "content": "caffè", "metadata": {"lossy": False, "bytes": 5}},
    },
    {
        "name": "Latin-1 by the page's own word",
        "args": {"urls": ["http://x.test/a.html"]},
        "http": {
            "http://x.test/a.html": {"status": 200, "headers": {"content-type": "text/html"}, "body_b64": "PG1ldGEgY2hhcnNldD0iaXNvLTg4NTktMTUiPqQ="}
        },
        "expect": {"ok": True, "content": "<meta charset=\"iso-8859-15\">€", "metadata": {"lossy": False}},
    },
    {
        "name": "no word of its encoding: UTF-8 with a stray byte, and Windows-1252",
        "args": {"urls": ["https://x.test/1", "https://x.test/2", "https://x.test/3"]},
        "http": {
            "https://x.test/1": {"headers": {"content-type": "text/html"}, "body_b64": "PHRpdGxlPkNhZmbDqDwvdGl0bGU+PHA+6SBQZXJjaMOpIG5vPzwvcD48YSBocmVmPScveCc+VW5pdmVyc2l0w6A8L2E+"},
            "https://x.test/2": {"headers": {"content-type": "text/html"}, "body_b64": "PHRpdGxlPkNhZmboPC90aXRsZT48cD5QZXJjaOkgbm8/PC9wPjxhIGhyZWY9Jy94Jz5Vbml2ZXJzaXTgPC9hPg=="},
            "https://x.test/3": {"headers": {"content-type": "text/html; charset=iso-8859-1"}, "body_b64": "w6gg4pyT"},
        },
        "expect": {
            "ok": True,
            "entries": [
                {"content": "<title>Caffè</title><p>� Perché no?</p><a href='/x'>Università</a>", "lossy": True},
                {"content": "<title>Caffè</title><p>Perché no?</p><a href='/x'>Università</a>", "lossy": False, "guessed": True},
                {"content": "è ✓", "lossy": False},
            ],
        },
    },
    {
        "name": "binary data",
        "args": {"urls": ["https://x.test/a.png"]},
        "http": {"https://x.test/a.png": {"status": 200, "headers": {"content-type": "image/png"}, "body_b64": "iVBORw0KGgoAAAAN"}},
        "expect": {"ok": True, "content": "", "metadata": {"binary": True, "bytes": 12, "content_type": "image/png"}},
    },
    {
        "name": "an empty answer",
        "args": {"urls": ["https://x.test/empty"]},
        "http": {"https://x.test/empty": {"status": 204, "body": ""}},
        "expect": {"ok": True, "content": "", "metadata": {"status": 204, "bytes": 0, "binary": False}},
    },
    {
        "name": "a page that is not there",
        "args": {"urls": ["https://x.test/none"]},
        "http": {"https://x.test/none": {"status": 404, "headers": {"content-type": "text/plain"}, "body": "no"}},
        "expect": {"ok": False, "error_class": "not_found", "error": {"$match": "404"}, "metadata": {"status": 404}},
    },
    {
        "name": "a server at fault",
        "args": {"urls": ["https://x.test/down"]},
        "http": {"https://x.test/down": {"status": 503, "body": ""}},
        "expect": {"ok": False, "error_class": "operation_failed", "error": {"$match": "503"}},
    },
    {
        "name": "too many requests",
        "args": {"urls": ["https://x.test/busy"]},
        "http": {"https://x.test/busy": {"status": 429, "body": ""}},
        "expect": {"ok": False, "error_class": "rate_limited"},
    },
    {
        "name": "several, one of them forbidden",
        "args": {"urls": ["https://x.test/1", "https://x.test/2"]},
        "http": {"https://x.test/1": {"status": 200, "body": "one"}, "https://x.test/2": {"status": 403, "body": "no"}},
        "expect": {
            "ok": True,
            "entries": [{"url": "https://x.test/1", "status": 200, "content": "one"}],
            "errors": [{"url": "https://x.test/2", "error_class": "forbidden"}],
            "metadata": {"count": 1, "failed": 1, "left_out": 0},
        },
    },
    {
        "name": "status and type only",
        "args": {"urls": ["https://x.test/big"], "method": "HEAD"},
        "http": {"https://x.test/big": {"status": 200, "headers": {"content-type": "text/html", "content-length": "1234"}, "body": ""}},
        "expect": {"ok": True, "content": "", "metadata": {"status": 200, "content_type": "text/html", "content_length": 1234}},
    },
    {"name": "a header in two lines", "args": {"urls": ["https://x.test/"], "headers": {"x-a": "1\r\nx-b: 2"}}, "expect": {"ok": False, "error_class": "invalid_args"}},
]
