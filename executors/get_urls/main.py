"""get_urls: what addresses on the web answer, as text.

Every request goes through the broker (`ctx.http`), which grants hosts, follows redirects and bounds sizes; this file only
asks and makes text of the bytes. It runs no script and turns no page into readable prose.
"""

# Text of all answers together, as JSON.
REPLY_BYTES = 3 * 1024 * 1024 - 192 * 1024
BODY_BYTES_MAX = 2 * 1024 * 1024
RESERVE_S = 0.5
META_BYTES = 2048

STATUS_CLASSES = {401: "unauthorized", 403: "forbidden", 404: "not_found", 407: "unauthorized", 410: "not_found", 429: "rate_limited"}
BINARY_TYPES = ("image/", "audio/", "video/", "font/")
TEXT_TYPES = ("text/", "application/json", "application/xml", "application/javascript", "application/yaml", "application/x-www-form-urlencoded", "image/svg+xml")
MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


class Refused(Exception):
    def __init__(self, error_class, english, italian, metadata=None):
        super().__init__(english)
        self.error_class, self.english, self.italian, self.metadata = error_class, english, italian, metadata

    def message(self, ctx):
        return self.italian if ctx.language == "it" else self.english


# ---- asking ----


def checked_urls(args):
    urls = args.get("urls")
    if not isinstance(urls, list) or not urls:
        raise Refused("missing_input", "Which address to fetch is missing.", "Manca l'indirizzo da aprire.")
    for url in urls:
        if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")) or any(sign in url for sign in " \t\r\n\0"):
            raise Refused(
                "invalid_args", "«%s» is not an address that starts with http:// or https://." % url, "«%s» non è un indirizzo che inizia con http:// o https://." % url
            )
    return list(dict.fromkeys(urls))


def checked_headers(args):
    headers = args.get("headers") or {}
    if not isinstance(headers, dict):
        raise Refused("invalid_args", "headers must be an object.", "headers deve essere un oggetto.")
    for name, value in headers.items():
        if not isinstance(value, str) or any(sign in name + value for sign in "\r\n\0"):
            raise Refused("invalid_args", "The header %s is wrong." % name, "L'intestazione %s è sbagliata." % name)
    return headers


def fetch(url, method, headers, ctx):
    """(text, metadata) of one address; refused where it answered with an error."""
    answer = ctx.http(method, url, headers=headers or None)
    body, truncated = unpacked(answer.body or b"", answer.headers, bool(answer.truncated))
    if len(body) > BODY_BYTES_MAX:
        body, truncated = body[:BODY_BYTES_MAX], True
    content_type = answer.headers.get("content-type", "")
    text, lossy, binary, guessed = as_text(body, content_type, truncated)
    metadata = {
        "url": url,
        "final_url": answer.url or url,
        "status": answer.status,
        "content_type": content_type,
        "bytes": len(body),
        "lossy": lossy,
        "truncated": truncated,
        "binary": binary,
    }
    if guessed:
        metadata["guessed"] = True
    length = answer.headers.get("content-length", "")
    if method == "HEAD" and length.isdigit() and len(length) < 19:
        metadata["content_length"] = int(length)
    if answer.status >= 400:
        raise Refused(
            STATUS_CLASSES.get(answer.status, "operation_failed"),
            "%s answered with status %d." % (url, answer.status),
            "%s ha risposto con lo stato %d." % (url, answer.status),
            metadata,
        )
    return text, metadata


def unpacked(body, headers, truncated):
    """The body without a compression that the server applied unasked; never more than the limit, whatever it unpacks to."""
    coding = headers.get("content-encoding", "").strip().lower()
    if not body or coding not in ("gzip", "x-gzip", "deflate"):
        return body, truncated
    import zlib

    unpacker = zlib.decompressobj(47 if coding != "deflate" or body[:1] == b"\x78" else -15)
    try:
        plain = unpacker.decompress(body, BODY_BYTES_MAX)
    except zlib.error:
        # The broker unpacked it already, or the header lies: the bytes stand for themselves.
        return body, truncated
    return plain, truncated or not unpacker.eof


# ---- text ----


def charset_of(content_type, body):
    """The encoding by the body's mark, else by the header, else by what the page says of itself; None if none does."""
    for mark, encoding in MARKS:
        if body.startswith(mark):
            return encoding, len(mark)
    named = after(content_type.lower(), "charset=")
    start = body[:META_BYTES].lower().decode("latin-1").replace(" =", "=")
    if not named and "<" in start:
        named = after(start, "charset=") or after(start, "encoding=")
    return known_encoding(named), 0


def after(text, sign):
    """The word after the sign, without quotes."""
    at = text.find(sign)
    if at < 0:
        return ""
    word = text[at + len(sign) : at + len(sign) + 40].lstrip(" \"'")
    for end, letter in enumerate(word):
        if not (letter.isalnum() or letter in "-_.:"):
            return word[:end]
    return word


def known_encoding(name):
    """Python's name of it; the web's Latin-1 is Windows' in truth. None where there is no such encoding of pages."""
    import codecs

    if not name:
        return None
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    if not info._is_text_encoding or info.name in ("idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7"):
        return None
    if info.name in ("iso8859-1", "ascii"):
        return "cp1252"
    # A page that can say so in plain letters is not in a wide encoding.
    return {"utf-16": "utf-16-le", "utf-32": "utf-32-le", "utf-8-sig": "utf-8"}.get(info.name, info.name)


def as_text(body, content_type, truncated):
    """(text, lossy, binary, guessed). Unknown types are text where they read as such."""
    kind = content_type.lower().split(";")[0].strip()
    encoding, mark = charset_of(content_type, body)
    text_type = kind.startswith(TEXT_TYPES) or kind.endswith(("+json", "+xml"))
    if kind.startswith(BINARY_TYPES) and not text_type:
        return "", False, bool(body), False
    wide = encoding is not None and encoding.startswith(("utf-16", "utf-32"))
    if not wide and b"\0" in body:
        return "", False, True, False
    if mark or encoding not in (None, "utf-8", "cp1252"):
        text, lossy = decoded(body[mark:], encoding, not truncated)
        return text, lossy, False, False
    if encoding is None and not text_type and decoded(body, "utf-8", not truncated)[1]:
        return "", False, True, False
    text, found, lossy = western(body, not truncated)
    return text, lossy, False, found == "cp1252" and encoding != found


def western(data, complete):
    """(text, encoding, lossy) of UTF-8 or of one-byte letters: a few stray bytes do not make Windows-1252 of UTF-8."""
    text, lossy = decoded(data, "utf-8", complete)
    others = len(text) - len(text.encode("ascii", "ignore")) if lossy else 0
    if lossy and others <= 2 * text.count("\ufffd"):
        text, lossy = decoded(data, "cp1252", complete)
        return text, "cp1252", lossy
    return text, "utf-8", lossy


def decoded(data, encoding, complete):
    import codecs

    make = codecs.getincrementaldecoder(encoding)
    try:
        return make("strict").decode(data, complete), False
    except UnicodeError:
        return make("replace").decode(data, complete), True


def fit(text, budget):
    """(text, whether it had to be cut) so that it takes at most `budget` bytes of JSON, however it is escaped."""
    if len(text) * 12 <= budget:
        return text, False
    import json

    if len(json.dumps(text)) <= budget:
        return text, False
    low, high = 0, len(text)
    while high - low > 1024:
        middle = (low + high) // 2
        if len(json.dumps(text[:middle])) <= budget:
            low = middle
        else:
            high = middle
    return text[:low], True


# ---- replies ----


def fetch_one(url, method, headers, ctx):
    text, metadata = fetch(url, method, headers, ctx)
    content, cut = fit(text, REPLY_BYTES)
    metadata["truncated"] = metadata["truncated"] or cut
    return {"ok": True, "content": content, "metadata": metadata}


def fetch_many(urls, method, headers, ctx):
    entries, errors, room, left_out = [], [], REPLY_BYTES, 0
    for number, url in enumerate(urls):
        if room < 8192 or ctx.remaining() < RESERVE_S:
            left_out = len(urls) - number
            break
        ctx.progress(number, len(urls), url)
        try:
            text, entry = fetch(url, method, headers, ctx)
        except Refused as refused:
            errors.append({"url": url, "error_class": refused.error_class, "error": refused.message(ctx)})
            room -= 1024 + 24 * len(url)
            continue
        except ctx.Failure as failure:
            errors.append({"url": url, "error_class": failure.error_class, "error": str(failure.message)})
            room -= 1024 + 24 * len(url)
            continue
        room -= 1024 + 24 * len(url)
        content, cut = fit(text, max(room, 0))
        entry["content"], entry["truncated"] = content, entry["truncated"] or cut
        room -= 12 * len(content) if len(content) < 1024 else size_of(content)
        entries.append(entry)
    metadata = {"count": len(entries), "failed": len(errors), "left_out": left_out}
    metadata["truncated"] = left_out > 0 or any(entry["truncated"] for entry in entries)
    if errors and not entries and not left_out:
        first = errors[0]
        return {"ok": False, "error_class": first["error_class"], "error": first["error"], "entries": [], "errors": errors, "metadata": metadata}
    return {"ok": True, "entries": entries, "errors": errors, "metadata": metadata}


def size_of(text):
    import json

    return len(json.dumps(text))


def run(args, ctx):
    try:
        method = (args.get("method") or "GET").upper()
        if method not in ("GET", "HEAD"):
            raise Refused("invalid_args", "Only GET and HEAD are possible.", "Sono possibili solo GET e HEAD.")
        urls, headers = checked_urls(args), checked_headers(args)
        if len(urls) == 1:
            return fetch_one(urls[0], method, headers, ctx)
        return fetch_many(urls, method, headers, ctx)
    except Refused as refused:
        result = {"ok": False, "error_class": refused.error_class, "error": refused.message(ctx)}
        if refused.metadata is not None:
            result["metadata"] = refused.metadata
        return result
