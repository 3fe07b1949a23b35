"""Birth cases of read_files_pdf: data only. They hold with and without pdftotext; the reading itself has an acceptance test."""

CASES = [
    {"name": "a missing file", "args": {"paths": ["{ws}/nowhere.pdf"]}, "expect": {"ok": False, "error_class": "not_found"}},
    {
        "name": "a folder instead of a file",
        "args": {"paths": ["{ws}/in"]},
        "files": {"in/a.pdf": "x"},
        "expect": {"ok": False, "error_class": "wrong_type", "error": {"$match": "is a folder"}},
    },
    {
        "name": "a text that only calls itself PDF",
        "args": {"paths": ["{ws}/in/a.pdf"]},
        "files": {"in/a.pdf": "Dear reader, this is no PDF."},
        "expect": {"ok": False, "error_class": "unparseable", "error": {"$match": "is no PDF document"}},
    },
    {
        "name": "an empty file",
        "args": {"paths": ["{ws}/in/a.pdf"]},
        "files": {"in/a.pdf": ""},
        "expect": {"ok": False, "error_class": "unparseable", "error": {"$match": "is empty"}},
    },
    {
        "name": "bytes of another kind of file",
        "args": {"entries": [{"path": "{ws}/in/photo.pdf"}]},
        "files_b64": {"in/photo.pdf": "/9j/4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
        "expect": {"ok": False, "error_class": "unparseable"},
    },
    {
        "name": "several that cannot be read are each told",
        "args": {"paths": ["{ws}/in/a.pdf", "{ws}/in/b.pdf"]},
        "files": {"in/a.pdf": "", "in/b.pdf": "text"},
        "expect": {"ok": False, "error_class": "unparseable", "errors": [{"path": "{ws}/in/a.pdf"}, {"path": "{ws}/in/b.pdf"}], "metadata": {"count": 0, "failed": 2}},
    },
    {
        "name": "pages in the wrong order",
        "args": {"paths": ["{ws}/in/a.pdf"], "first_page": 3, "last_page": 2},
        "files": {"in/a.pdf": "%PDF-1.4"},
        "expect": {"ok": False, "error_class": "invalid_args"},
    },
    {"name": "no documents", "args": {"entries": []}, "expect": {"ok": True, "entries": [], "metadata": {"count": 0, "failed": 0}}},
]
