"""Birth cases of read_urls_html: data only."""

CASES = [
    {
        "name": "readable text without scripts, styles and menus; links absolute and once each",
        "args": {"urls": ["https://x.test/d/page"]},
        "http": {
            "https://x.test/d/page": {
                "headers": {"content-type": "text/html"},
                "body": "<!doctype html><html><head><title> My &amp;\n page </title><style>p {}</style><script>if (a < b) document.write('<p>no</p>')</script></head><body><nav><a href='/'>Home</a></nav><h1>Welcome</h1><p>First <b>bold</b> and <a href='../a?x=1&amp;y=2#top'>a link</a>, caff&egrave;.<p>Second<br>line <a href='/a?x=1&y=2'>again</a><a href='javascript:x()'></a><ul><li>one<li>two</ul><footer>Copyright</footer>"
            }
        },
        "expect": {
            "ok": True,
            "title": "My & page",
            "content": "Welcome\n\nFirst bold and a link, caffè.\n\nSecond\nline again\n\n- one\n- two",
            "entries": [{"text": "Home", "url": "https://x.test/"}, {"text": "a link", "url": "https://x.test/a?x=1&y=2"}],
            "metadata": {"url": "https://x.test/d/page", "title": "My & page", "status": 200, "links": 2, "charset": "utf-8", "truncated": False},
        },
    },
    {
        "name": "markdown",
        "args": {"urls": ["https://x.test/"], "what": "markdown"},
        "http": {"https://x.test/": {"headers": {"content-type": "text/html"}, "body": "<h2>T</h2><p><em>a</em> <a href='b'>c</a></p><ol><li>x<li>y</ol><pre>  k\n v</pre><table><tr><th>A<th>B<tr><td>1<td>2</table>"}},
        "expect": {"ok": True, "content": "## T\n\n*a* [c](https://x.test/b)\n\n1. x\n2. y\n\n```\n  k\n v\n```\n\n| A | B |\n| --- | --- |\n| 1 | 2 |"},
    },
    {
        "name": "tables as rows",
        "args": {"urls": ["https://x.test/"], "what": "tables"},
        "http": {"https://x.test/": {"headers": {"content-type": "text/html"}, "body": "<table><tr><th>Name</th><th>Price</th></tr><tr><td>Milk</td><td>1.50</td></tr><tr><td>Bread</td></tr></table>"}},
        "expect": {"ok": True, "entries": [{"Name": "Milk", "Price": "1.50"}, {"Name": "Bread", "Price": None}], "metadata": {"tables": 1}},
    },
    {
        "name": "a table with a repeated and an empty heading keeps all columns",
        "args": {"urls": ["https://x.test/"], "what": "tables"},
        "http": {"https://x.test/": {"headers": {"content-type": "text/html"}, "body": "<table><tr><th>Price</th><th></th><th>Price</th></tr><tr><td>1</td><td>2</td><td>3</td></tr></table>"}},
        "expect": {"ok": True, "entries": [{"Price": "1", "column 2": "2", "Price (2)": "3"}]},
    },
    {
        "name": "only the title; a page without one is called by its heading",
        "args": {"urls": ["https://x.test/a", "https://x.test/b"], "what": "title"},
        "http": {"https://x.test/a": {"headers": {"content-type": "text/html"}, "body": "<title>A</title>"}, "https://x.test/b": {"headers": {"content-type": "text/html"}, "body": "<h1>B</h1><p>text"}},
        "expect": {"ok": True, "entries": [{"title": "A", "content": "A"}, {"title": "B", "content": "B"}], "metadata": {"count": 2, "failed": 0}},
    },
    {
        "name": "links with their base",
        "args": {"urls": ["https://x.test/"], "what": "links"},
        "http": {"https://x.test/": {"headers": {"content-type": "text/html"}, "body": "<base href='https://y.test/z/'><a href='q'>Q</a><a href='#here'>no</a><a href='mailto:a@b.test'>m</a><a href='http://['>bad</a>"}},
        "expect": {"ok": True, "entries": [{"text": "Q", "url": "https://y.test/z/q"}, {"text": "m", "url": "mailto:a@b.test"}], "metadata": {"links": 2}},
    },
    {
        "name": "Latin-1, and a charset that lies in either direction",
        "args": {"urls": ["https://x.test/1", "https://x.test/2", "https://x.test/3", "https://x.test/4"]},
        "http": {
            "https://x.test/1": {"headers": {"content-type": "text/html"}, "body_b64": "PGh0bWw+PGhlYWQ+PG1ldGEgY2hhcnNldD1pc28tODg1OS0xPjx0aXRsZT5DYWZm6DwvdGl0bGU+PC9oZWFkPjxib2R5PjxwPlBlcmNo6SBubz8gQ29z7CDoLjwvcD48L2JvZHk+PC9odG1sPg=="},
            "https://x.test/2": {"headers": {"content-type": "text/html"}, "body_b64": "PGh0bWw+PGhlYWQ+PG1ldGEgY2hhcnNldD11dGYtOD48dGl0bGU+eDwvdGl0bGU+PC9oZWFkPjxib2R5PjxwPlBlcmNo6SBubz88L3A+PC9ib2R5PjwvaHRtbD4="},
            "https://x.test/3": {"headers": {"content-type": "text/html; charset=iso-8859-1"}, "body_b64": "PGh0bWw+PGhlYWQ+PHRpdGxlPng8L3RpdGxlPjwvaGVhZD48Ym9keT48cD5QZXJjaMOpIG5vPyDinJM8L3A+PC9ib2R5PjwvaHRtbD4="},
            "https://x.test/4": {"headers": {"content-type": "text/html"}, "body_b64": "//48AGgAdABtAGwAPgA8AGgAZQBhAGQAPgA8AHQAaQB0AGwAZQA+AHgAPAAvAHQAaQB0AGwAZQA+ADwALwBoAGUAYQBkAD4APABiAG8AZAB5AD4APABwAD4AUABlAHIAYwBoAOkAIABuAG8APwAgABMnPAAvAHAAPgA8AC8AYgBvAGQAeQA+ADwALwBoAHQAbQBsAD4A"},
        },
        "expect": {
            "ok": True,
            "entries": [
                {"title": "Caffè", "content": "Perché no? Così è.", "charset": "cp1252", "lossy": False},
                {"content": "Perché no?", "charset": "cp1252", "lossy": False},
                {"content": "Perché no? ✓", "charset": "utf-8"},
                {"content": "Perché no? ✓", "charset": "utf-16-le"},
            ],
        },
    },
    {
        "name": "title and links in Windows-1252, by the header, by the page and by neither",
        "args": {"urls": ["https://x.test/1", "https://x.test/2", "https://x.test/3"]},
        "http": {
            "https://x.test/1": {"headers": {"content-type": "text/html; charset=windows-1252"}, "body_b64": "PHRpdGxlPkNhZmboPC90aXRsZT48cD5QZXJjaOkgbm8/PC9wPjxhIGhyZWY9Jy94Jz5Vbml2ZXJzaXTgPC9hPg=="},
            "https://x.test/2": {"headers": {"content-type": "text/html"}, "body_b64": "PG1ldGEgY2hhcnNldCA9ICJ3aW5kb3dzLTEyNTIiPjx0aXRsZT5DYWZm6DwvdGl0bGU+PHA+UGVyY2jpIG5vPzwvcD48YSBocmVmPScveCc+VW5pdmVyc2l04DwvYT4="},
            "https://x.test/3": {"headers": {"content-type": "text/html"}, "body_b64": "PHRpdGxlPkNhZmboPC90aXRsZT48cD5QZXJjaOkgbm8/PC9wPjxhIGhyZWY9Jy94Jz5Vbml2ZXJzaXTgPC9hPg=="},
        },
        "expect": {
            "ok": True,
            "entries": [
                {"title": "Caffè", "found": [{"text": "Università", "url": "https://x.test/x"}], "charset": "cp1252", "lossy": False},
                {"title": "Caffè", "found": [{"text": "Università", "url": "https://x.test/x"}], "charset": "cp1252", "lossy": False},
                {"title": "Caffè", "found": [{"text": "Università", "url": "https://x.test/x"}], "charset": "cp1252", "lossy": False},
            ],
        },
    },
    {
        "name": "one stray byte makes no other encoding of a page, by its word or without",
        "args": {"urls": ["https://x.test/1", "https://x.test/2", "https://x.test/3"]},
        "http": {
            "https://x.test/1": {"headers": {"content-type": "text/html; charset=utf-8"}, "body_b64": "PHRpdGxlPkNhZmbDqDwvdGl0bGU+PHA+6SBQZXJjaMOpIG5vPzwvcD48YSBocmVmPScveCc+VW5pdmVyc2l0w6A8L2E+"},
            "https://x.test/2": {"headers": {"content-type": "text/html"}, "body_b64": "PHRpdGxlPkNhZmbDqDwvdGl0bGU+PHA+6SBQZXJjaMOpIG5vPzwvcD48YSBocmVmPScveCc+VW5pdmVyc2l0w6A8L2E+"},
            "https://x.test/3": {"headers": {"content-type": "text/html"}, "body_b64": "PHRpdGxlPkNhZmboPC90aXRsZT48cD6BUGVyY2jpIG5vPzwvcD48YSBocmVmPScveCc+VW5pdmVyc2l04DwvYT4="},
        },
        "expect": {
            "ok": True,
            "entries": [
                {"title": "Caffè", "content": "� Perché no?\n\nUniversità", "charset": "utf-8", "lossy": True},
                {"title": "Caffè", "content": "� Perché no?\n\nUniversità", "charset": "utf-8", "lossy": True},
                {"title": "Caffè", "charset": "cp1252", "lossy": True},
            ],
        },
    },
    {
        "name": "2.3 MB packed into 2 kB stop at the limit",
        "args": {"urls": ["https://x.test/bomb"]},
        "http": {"https://x.test/bomb": {"headers": {"content-type": "text/html", "content-encoding": "gzip"}, "body_b64": "H4sIAAAAAAACA+3BQQkAAAgEsGJyYCP7v8xxsG0uCwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAxR4mXnPdYxgjAA=="}},
        "expect": {"ok": True, "metadata": {"truncated": True, "bytes": 2097152}},
    },
    {
        "name": "tags that are never closed or never opened",
        "args": {"urls": ["https://x.test/"]},
        "http": {"https://x.test/": {"headers": {"content-type": "text/html"}, "body": "</div></p><b><i><p>one</b></i><div>two<table><td>x<td>y<!-- never <p>closed"}},
        "expect": {"ok": True, "content": {"$match": "^one\n\ntwo\n\nx \\| y"}},
    },
    {"name": "a page that is not there", "args": {"urls": ["https://x.test/no"]}, "http": {"https://x.test/no": {"status": 404}}, "expect": {"ok": False, "error_class": "not_found"}},
    {
        "name": "a picture is no page",
        "args": {"urls": ["https://x.test/a.png"]},
        "http": {"https://x.test/a.png": {"headers": {"content-type": "image/png"}, "body_b64": "iVBORw0KGgoAAA=="}},
        "expect": {"ok": False, "error_class": "wrong_type"},
    },
    {
        "name": "one page of two fails",
        "args": {"urls": ["https://x.test/a", "https://x.test/b"]},
        "http": {"https://x.test/a": {"headers": {"content-type": "text/html"}, "body": "<p>hi"}, "https://x.test/b": {"error_class": "network", "error": "no route"}},
        "expect": {"ok": True, "entries": [{"content": "hi"}], "errors": [{"url": "https://x.test/b", "error_class": "network"}], "metadata": {"count": 1, "failed": 1}},
    },
    {
        "name": "plain text stays as it is",
        "args": {"urls": ["https://x.test/a.txt"]},
        "http": {"https://x.test/a.txt": {"headers": {"content-type": "text/plain"}, "body": "a <b>\n c"}},
        "expect": {"ok": True, "title": "", "content": "a <b>\n c"},
    },
    {"name": "another scheme", "args": {"urls": ["ftp://x.test/"]}, "expect": {"ok": False, "error_class": "invalid_args"}},
]
