"""Birth cases of get_files: data only."""

CASES = [
    {
        "name": "size, dates and type of a file",
        "args": {"paths": ["{ws}/in/a.TXT"]},
        "files": {"in/a.TXT": "hello"},
        "expect": {
            "ok": True,
            "entries": [{"path": "{ws}/in/a.TXT", "name": "a.TXT", "kind": "file", "size": 5, "modified": {"$match": "^20.*Z$"}, "mime": "text/plain", "extension": "txt"}],
            "errors": [],
            "metadata": {"count": 1, "failed": 0, "total_size": 5, "truncated": False},
        },
    },
    {
        "name": "digests, of an empty file too",
        "args": {"entries": [{"path": "{ws}/in/a"}, {"path": "{ws}/in/empty"}], "fields": ["sha256"]},
        "files": {"in/a": "abc", "in/empty": ""},
        "expect": {
            "ok": True,
            "entries": [
                {"name": "a", "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                {"name": "empty", "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
            ],
        },
    },
    {
        "name": "types by the bytes, not by the name",
        "args": {"paths": ["{ws}/in/photo.txt", "{ws}/in/b.docx", "{ws}/in/c.bin", "{ws}/in/d", "{ws}/in/e.csv", "{ws}/in"], "fields": ["mime"]},
        "files": {"in/c.bin": "\u0000\u0001", "in/d": "<!DOCTYPE html><p>x", "in/e.csv": "a,b"},
        "files_b64": {"in/photo.txt": "/9j/4A==", "in/b.docx": "UEsDBBQA"},
        "expect": {
            "ok": True,
            "entries": [
                {"mime": "image/jpeg"},
                {"mime": {"$match": "wordprocessingml"}},
                {"mime": "application/octet-stream"},
                {"mime": "text/html"},
                {"mime": "text/csv"},
                {"mime": "inode/directory", "kind": "dir"},
            ],
        },
    },
    {
        "name": "when photos were shot; a cut one and one without a clock say nothing",
        "args": {"paths": ["{ws}/in/a.jpg", "{ws}/in/cut.jpg", "{ws}/in/noclock.jpg", "{ws}/in/b.tif", "{ws}/in/c.heic", "{ws}/in/d.txt"], "fields": ["taken", "mime"]},
        "files": {"in/d.txt": "no photo"},
        "files_b64": {
            "in/a.jpg": "/9j/4AAQSkZJRgABAQAAAQABAAD/4QBbRXhpZgAASUkqAAgAAAABAGmHBAABAAAAGgAAAAAAAAACAAOQAgAUAAAAOAAAABGQAgAHAAAATAAAAAAAAAAyMDI2OjExOjAxIDEwOjIwOjMwACswMTowMAD/2gAC/9k=",
            "in/cut.jpg": "/9j/4AAQSkZJRgABAQAAAQABAAD/4QBbRXhpZgAASUkqAAgAAAABAGmHBAABAAAAGgAAAAAAAAACAAOQ",
            "in/noclock.jpg": "/9j/4AAQSkZJRgABAQAAAQABAAD/4QBbRXhpZgAASUkqAAgAAAABAGmHBAABAAAAGgAAAAAAAAACAAOQAgAUAAAAOAAAABGQAgAHAAAATAAAAAAAAAAwMDAwOjAwOjAwIDAwOjAwOjAwACswMTowMAD/2gAC/9k=",
            "in/b.tif": "SUkqAAgAAAABAGmHBAABAAAAGgAAAAAAAAACAAOQAgAUAAAAOAAAABGQAgAHAAAATAAAAAAAAAAyMDI2OjExOjAxIDEwOjIwOjMwACswMTowMAA=",
            "in/c.heic": "AAAAGGZ0eXBoZWljAAAAAG1pZjFoZWljAAAAAAAAAAAAAAAAAAAAAAAAAABFeGlmAABJSSoACAAAAAEAaYcEAAEAAAAaAAAAAAAAAAIAA5ACABQAAAA4AAAAEZACAAcAAABMAAAAAAAAADIwMjY6MTE6MDEgMTA6MjA6MzAAKzAxOjAwAA==",
        },
        "expect": {
            "ok": True,
            "entries": [
                {"taken": "2026-11-01T10:20:30+01:00"},
                {"taken": None},
                {"taken": None},
                {"taken": "2026-11-01T10:20:30+01:00", "mime": "image/tiff"},
                {"taken": "2026-11-01T10:20:30+01:00", "mime": "image/heic"},
                {"taken": None},
            ],
            "metadata": {"taken": 3, "count": 6},
        },
    },
    {
        "name": "fields of earlier steps are kept",
        "args": {"entries": [{"path": "{ws}/in/a", "group": 7, "size": 99}], "fields": ["size"]},
        "files": {"in/a": "abc"},
        "expect": {"ok": True, "entries": [{"name": "a", "group": 7, "size": 3}]},
    },
    {"name": "no files", "args": {"entries": []}, "expect": {"ok": True, "entries": [], "metadata": {"count": 0, "total_size": 0}}},
    {"name": "a missing file", "args": {"paths": ["{ws}/nowhere"]}, "expect": {"ok": False, "error_class": "not_found"}},
    {"name": "no path at all", "args": {"paths": []}, "expect": {"ok": False, "error_class": "invalid_args"}},
    {
        "name": "a field that does not exist",
        "args": {"paths": ["{ws}/in/a"], "fields": ["colour"]},
        "files": {"in/a": "a"},
        "expect": {"ok": False, "error_class": "invalid_args"},
    },
]
