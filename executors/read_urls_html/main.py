"""read_urls_html: web pages as a person reads them: text or markdown, links, tables, title.

Every request goes through the broker (`ctx.http`), which grants hosts, follows redirects and bounds sizes. Scripts are not
run, so a page that makes its text by script has none here; what is hidden by style is shown; forms are left out.
"""

REPLY_BYTES = 6 * 1024 * 1024 - 256 * 1024
BODY_BYTES_MAX = 2 * 1024 * 1024
LINKS_MAX = 20000
DEPTH_MAX = 400
TABLE_CELLS_MAX = 200000
RESERVE_S = 0.7
META_BYTES = 4096

STATUS_CLASSES = {401: "unauthorized", 403: "forbidden", 404: "not_found", 407: "unauthorized", 410: "not_found", 429: "rate_limited"}
MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
# Nothing in these is meant to be read.
SILENT = frozenset(("script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "audio", "video", "select", "datalist", "button", "dialog", "head"))
# Menus and the like: left out of the text where there is something else; their links count all the same.
AROUND = frozenset(("nav", "footer", "aside", "form"))
BLOCKS = frozenset(
    ("p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "form", "fieldset", "address", "figure", "figcaption", "dl", "dt", "dd", "ul", "ol", "table",
     "caption", "tr", "blockquote", "details", "summary", "hr", "body", "html", "center", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "li")
)
VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"))
# A start tag that ends an open one of these, up to the nearest of the others.
CLOSES = {
    "li": (("li",), ("ul", "ol")), "dt": (("dt", "dd"), ("dl",)), "dd": (("dt", "dd"), ("dl",)), "tr": (("tr", "td", "th"), ("table",)),
    "td": (("td", "th"), ("tr", "table")), "th": (("td", "th"), ("tr", "table")), "option": (("option",), ("select",)),
}
ENDS_P = BLOCKS - frozenset(("body", "html"))


class Refused(Exception):
    def __init__(self, error_class, english, italian, metadata=None):
        super().__init__(english)
        self.error_class, self.english, self.italian, self.metadata = error_class, english, italian, metadata

    def message(self, ctx):
        return self.italian if ctx.language == "it" else self.english


class OutOfTime(Exception):
    pass


# ---- asking ----


def checked_urls(args):
    urls = args.get("urls")
    if not isinstance(urls, list) or not urls:
        raise Refused("missing_input", "Which page to read is missing.", "Manca la pagina da leggere.")
    for url in urls:
        if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")) or any(sign in url for sign in " \t\r\n\0"):
            raise Refused(
                "invalid_args", "«%s» is not an address that starts with http:// or https://." % url, "«%s» non è un indirizzo che inizia con http:// o https://." % url
            )
    return list(dict.fromkeys(urls))


def fetch(url, ctx):
    """(body, answer, whether it was cut) of one address; refused where it answered with an error."""
    answer = ctx.http("GET", url, headers={"Accept": "text/html, application/xhtml+xml, text/plain;q=0.8, */*;q=0.1"})
    if answer.status >= 400:
        raise Refused(
            STATUS_CLASSES.get(answer.status, "operation_failed"),
            "%s answered with status %d." % (url, answer.status),
            "%s ha risposto con lo stato %d." % (url, answer.status),
        )
    body, truncated = unpacked(answer.body or b"", answer.headers, bool(answer.truncated))
    if len(body) > BODY_BYTES_MAX:
        body, truncated = body[:BODY_BYTES_MAX], True
    return body, answer, truncated


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


# ---- text of bytes ----


def named_encodings(content_type, body):
    """The encodings that the header and the page itself name, in this order; the page's own mark stands above both."""
    named = [after(content_type.lower(), "charset=")]
    start = body[:META_BYTES].lower().decode("latin-1").replace(" =", "=")
    if "<" in start:
        named += [after(start, "charset="), after(start, "encoding=")]
    return [encoding for encoding in map(known_encoding, named) if encoding]


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
    return {"utf-16": "utf-16-le", "utf-32": "utf-32-le", "utf-8-sig": "utf-8"}.get(info.name, info.name)


def as_text(body, content_type, complete):
    """(text, encoding, lossy). A charset that does not fit the bytes gives way to UTF-8 where most of that fits, else to Windows-1252."""
    for mark, encoding in MARKS:
        if body.startswith(mark):
            text, lossy = decoded(body[len(mark) :], encoding, complete)
            return text, encoding, lossy
    wide = guessed_wide(body)
    if wide:
        text, lossy = decoded(body, wide, complete)
        return text, wide, lossy
    named = [encoding for encoding in named_encodings(content_type, body) if not encoding.startswith(("utf-16", "utf-32"))]
    # Bytes above ASCII that are sound UTF-8 are UTF-8, whatever a page in one-byte letters says of itself.
    if not named or named[0] in ("cp1252", "utf-8"):
        return western(body, complete)
    text, lossy = decoded(body, named[0], complete)
    return (text, named[0], False) if not lossy else western(body, complete)


def western(data, complete):
    """(text, encoding, lossy) of UTF-8 or of one-byte letters: a few stray bytes do not make Windows-1252 of UTF-8."""
    text, lossy = decoded(data, "utf-8", complete)
    others = len(text) - len(text.encode("ascii", "ignore")) if lossy else 0
    if lossy and others <= 2 * text.count("\ufffd"):
        text, lossy = decoded(data, "cp1252", complete)
        return text, "cp1252", lossy
    return text, "utf-8", lossy


def guessed_wide(body):
    """UTF-16 without a mark: half of the first bytes are zero."""
    start = body[:META_BYTES]
    even, odd = start[0::2].count(0), start[1::2].count(0)
    if 4 * max(even, odd) < len(start) or max(even, odd) < 8 * max(min(even, odd), 1):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def decoded(data, encoding, complete):
    import codecs

    make = codecs.getincrementaldecoder(encoding)
    try:
        return make("strict").decode(data, complete), False
    except UnicodeError:
        return make("replace").decode(data, complete), True


# ---- addresses ----


def absolute(base, reference):
    """The whole address of a link, without what stands behind #; None for what is no page."""
    from urllib.parse import urldefrag, urljoin

    reference = "".join(reference.split())
    if not reference or reference.startswith("#"):
        return None
    scheme = reference.split(":", 1)[0].lower() if ":" in reference else ""
    if scheme in ("mailto", "tel"):
        return reference
    if scheme and scheme.isalpha() and scheme not in ("http", "https") and "/" not in scheme:
        return None
    try:
        whole = urldefrag(urljoin(base, reference)).url
    except ValueError:
        return None
    return whole if whole.lower().startswith(("http://", "https://")) else None


# ---- the page ----


def reader_class():
    """Made on first use: the parser's module is costly to import, and errors need none."""
    from html.parser import HTMLParser

    class Reader(HTMLParser):
        """Makes blocks of text, links and tables of a page, whatever its tags are worth."""

        def __init__(self, url, markdown, ctx):
            super().__init__(convert_charrefs=True)
            self.ctx, self.url, self.markdown = ctx, url, markdown
            self.open, self.silent, self.around, self.pre = [], 0, 0, 0
            # Finished blocks: (text, whether it stands in a menu or the like).
            self.blocks, self.line = [], []
            self.title, self.in_title, self.first_heading = [], False, ""
            self.links, self.seen, self.anchor = [], {}, None
            self.tables, self.table, self.cells = [], [], 0
            self.lists, self.marker, self.quotes = [], "", 0
            self.count = 0

        # ---- what the parser calls ----

        def handle_starttag(self, tag, attributes):
            self.count += 1
            if not self.count % 4096 and self.ctx.remaining() < RESERVE_S:
                raise OutOfTime
            attributes = dict(attributes)
            if tag == "base" and attributes.get("href"):
                self.url = absolute(self.url, attributes["href"]) or self.url
            if tag == "body":
                # Nothing of a head that was never closed.
                self.silent = 0
                self.open = [name for name in self.open if name not in SILENT]
            if tag == "title" and not self.title and "svg" not in self.open:
                self.in_title = True
            if tag in VOID:
                self.void(tag, attributes)
                return
            self.close_open(tag)
            if len(self.open) < DEPTH_MAX:
                self.open.append(tag)
            else:
                return
            if tag in SILENT:
                self.silent += 1
            if self.silent:
                return
            if tag in BLOCKS:
                self.flush()
            self.begin(tag, attributes)

        def handle_startendtag(self, tag, attributes):
            self.handle_starttag(tag, attributes)
            if tag not in VOID and tag in SILENT:
                self.handle_endtag(tag)

        def handle_endtag(self, tag):
            if tag == "title":
                self.in_title = False
            if tag not in self.open:
                if tag == "p":
                    self.flush()
                return
            while self.open:
                name = self.open.pop()
                self.end(name)
                if name == tag:
                    break

        def handle_data(self, data):
            if self.in_title:
                if len(self.title) < 100:
                    self.title.append(data)
                return
            if self.silent:
                return
            if self.table and self.table[-1]["cell"] is not None:
                self.table[-1]["cell"].append(data)
            if self.anchor is not None:
                self.anchor[1].append(data)
            if self.pre:
                self.line.append(data)
                return
            words = " ".join(data.split())
            before, behind = " " if data[:1].isspace() else "", " " if data[-1:].isspace() and words else ""
            self.line.append(before + words + behind)

        # ---- tags ----

        def close_open(self, tag):
            """Ends what a tag ends without saying so: a paragraph before a block, an item before the next one."""
            if tag in ENDS_P and "p" in self.open[-8:]:
                self.handle_endtag("p")
            closing = CLOSES.get(tag)
            if not closing:
                return
            names, limits = closing
            for at in range(len(self.open) - 1, -1, -1):
                if self.open[at] in limits:
                    return
                if self.open[at] in names:
                    while len(self.open) > at:
                        self.end(self.open.pop())

        def void(self, tag, attributes):
            if self.silent:
                return
            if tag == "br":
                self.line.append("\n")
            elif tag == "hr":
                self.flush()
                if self.markdown:
                    self.blocks.append(("---", self.around > 0))
            elif tag == "img":
                text = " ".join((attributes.get("alt") or "").split())
                if text:
                    if self.anchor is not None:
                        self.anchor[1].append(text)
                    self.line.append("![%s](%s)" % (text, absolute(self.url, attributes.get("src") or "") or "") if self.markdown else "[%s]" % text)

        def begin(self, tag, attributes):
            self.around += tag in AROUND
            if tag == "pre":
                self.pre += 1
            elif tag in ("ul", "ol"):
                self.lists.append([tag, 0])
            elif tag == "li":
                self.marker = self.next_marker()
            elif tag == "blockquote":
                self.quotes += 1
            elif tag == "a":
                self.end_anchor()
                self.anchor = (attributes.get("href") or "", [], len(self.line))
            elif tag == "table":
                self.table.append({"rows": [], "cell": None, "row": None, "from": len(self.blocks), "holds": False})
            elif tag == "tr" and self.table:
                self.table[-1]["row"] = []
                self.table[-1]["rows"].append(self.table[-1]["row"])
            elif tag in ("td", "th") and self.table:
                if self.table[-1]["row"] is None:
                    self.table[-1]["row"] = []
                    self.table[-1]["rows"].append(self.table[-1]["row"])
                if self.table[-1]["row"] and "".join(self.line).strip():
                    # Cells of a row stand beside each other.
                    self.line.append(" | ")
                self.table[-1]["cell"] = []
                self.table[-1]["head"] = tag == "th"
            elif self.markdown and tag in ("strong", "b", "em", "i", "code") and not self.pre:
                self.line.append({"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}[tag])

        def end(self, tag):
            if tag in SILENT:
                self.silent = max(self.silent - 1, 0)
                return
            if self.silent:
                return
            if tag == "a":
                self.end_anchor()
            elif tag in ("td", "th") and self.table:
                self.end_cell()
            elif self.markdown and tag in ("strong", "b", "em", "i", "code") and not self.pre:
                self.line.append({"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}[tag])
            if tag in BLOCKS:
                self.flush(tag)
            if tag == "pre":
                self.pre = max(self.pre - 1, 0)
            elif tag in ("ul", "ol") and self.lists:
                self.lists.pop()
            elif tag == "li":
                self.marker = ""
            elif tag == "blockquote":
                self.quotes = max(self.quotes - 1, 0)
            elif tag == "table" and self.table:
                self.end_table()
            if tag in AROUND:
                self.around = max(self.around - 1, 0)

        def next_marker(self):
            if not self.lists:
                return "- "
            self.lists[-1][1] += 1
            indent = "  " * (len(self.lists) - 1)
            return indent + ("%d. " % self.lists[-1][1] if self.lists[-1][0] == "ol" else "- ")

        def end_anchor(self):
            if self.anchor is None:
                return
            reference, words, start = self.anchor
            self.anchor = None
            address = absolute(self.url, reference)
            text = " ".join("".join(words).split())
            if address is None:
                return
            known = self.seen.get(address)
            if known is not None:
                known["text"] = known["text"] or text[:500]
            elif len(self.links) < LINKS_MAX:
                self.seen[address] = link = {"text": text[:500], "url": address}
                self.links.append(link)
            if self.markdown and text and start <= len(self.line) and not self.pre:
                inside = "".join(self.line[start:])
                before = inside[: len(inside) - len(inside.lstrip())]
                behind = inside[len(inside.rstrip()) :]
                self.line[start:] = ["%s[%s](%s)%s" % (before, " ".join(inside.split()), address.replace(")", "%29"), behind)]

        def end_cell(self):
            table = self.table[-1]
            if table["cell"] is None:
                return
            self.cells += 1
            if self.cells <= TABLE_CELLS_MAX:
                table["row"].append((" ".join("".join(table["cell"]).split()), table.get("head", False)))
            table["cell"] = None

        def end_table(self):
            self.end_cell()
            table = self.table.pop()
            rows = [row for row in table["rows"] if row]
            # One column is layout, and so is a table that holds tables.
            if self.table:
                self.table[-1]["holds"] = True
            if rows and not table["holds"] and max(len(row) for row in rows) > 1:
                self.tables.append(rows)
                if self.markdown:
                    self.blocks[table["from"] :] = [(drawn(rows), self.around > 0)]

        def flush(self, tag=""):
            """Ends the block that is being written."""
            text = "".join(self.line)
            self.line = []
            if not self.pre:
                text = "\n".join(" ".join(part.split()) for part in text.split("\n")).strip("\n")
            else:
                text = text.strip("\n")
            if self.anchor is not None:
                self.anchor = (self.anchor[0], self.anchor[1], 0)
            if not text.strip():
                return
            if tag in ("h1", "h2", "h3") and not self.first_heading:
                self.first_heading = text
            self.blocks.append((self.dressed(text, tag), self.around > 0))

        def dressed(self, text, tag):
            marker, self.marker = self.marker, ""
            if marker:
                text = marker + text.replace("\n", "\n" + " " * len(marker))
            elif self.markdown and len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
                text = "#" * int(tag[1]) + " " + text.replace("\n", " ")
            elif self.markdown and self.pre:
                text = "```\n%s\n```" % text
            if self.quotes:
                text = "\n".join("> " * self.quotes + part for part in text.split("\n"))
            return text

        def finish(self):
            try:
                self.close()
            except AssertionError:
                # The parser gives up on some broken declarations; what was read until there stands.
                pass
            while self.open:
                self.end(self.open.pop())
            self.flush()
            self.end_anchor()

    return Reader


def joined(blocks):
    """Blocks with an empty line between them; items of a list stand close together."""
    out, last = [], ""
    for block in blocks:
        item = block.lstrip()[:2] == "- " or block.lstrip().split(" ", 1)[0].rstrip(".").isdigit() and ". " in block[:8]
        row = " | " in block
        if out:
            out.append("\n" if (item and last == "item") or (row and last == "row") else "\n\n")
        out.append(block)
        last = "item" if item else "row" if row else ""
    return "".join(out)


def without_traps(text):
    """The page without comments and declarations, and without tags that never end: over many of these the parser would go
    again and again."""
    for sign, end in (("<!--", "-->"), ("<![", ">"), ("<?", ">")):
        if sign not in text:
            continue
        kept, at = [], 0
        while True:
            start = text.find(sign, at)
            if start < 0:
                kept.append(text[at:])
                break
            kept.append(text[at:start])
            stop = text.find(end, start + len(sign))
            if stop < 0:
                break
            at = stop + len(end)
        text = "".join(kept)
    last = text.rfind(">") + 1
    return text[:last] + text[last:].replace("<", "&lt;")


class Page:
    """What was read of one page."""

    def __init__(self, url, text, markdown, ctx):
        self.cut = False
        reader = reader_class()(url, markdown, ctx)
        try:
            reader.feed(without_traps(text))
        except OutOfTime:
            self.cut = True
        except (AssertionError, ValueError, RecursionError):
            # Broken beyond what the parser takes; what was read until there stands.
            self.cut = True
        reader.finish()
        self.title = " ".join("".join(reader.title).split())[:1000] or reader.first_heading[:1000]
        inner = [text for text, around in reader.blocks if not around]
        kept = inner if sum(len(text) for text in inner) > 40 else [text for text, _ in reader.blocks]
        self.text, self.links, self.tables = joined(kept), reader.links, reader.tables

    def rows(self, word):
        """The rows of all tables as entries, by the names in their first row."""
        entries = []
        for number, rows in enumerate(self.tables, 1):
            width = max(len(row) for row in rows)
            headed = all(head for _, head in rows[0]) or not any(head for row in rows for _, head in row)
            names = column_names([text for text, _ in rows[0]] if headed and len(rows) > 1 else [], width, word)
            for row in rows[1 if headed and len(rows) > 1 else 0 :]:
                entry = {name: row[at][0] if at < len(row) else None for at, name in enumerate(names)}
                if len(self.tables) > 1:
                    entry["table"] = number
                entries.append(entry)
        return entries


def drawn(rows):
    """A table as markdown."""
    width = max(len(row) for row in rows)
    lines = ["| " + " | ".join((row[at][0] if at < len(row) else "").replace("|", "\\|") for at in range(width)) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def column_names(cells, width, word):
    """As in a file of rows: «column 3» for a blank, «price (2)» for a repetition."""
    names = []
    for at in range(width):
        name = cells[at] if at < len(cells) and cells[at] else "%s %d" % (word, at + 1)
        fresh, times = name, 2
        while fresh in names or fresh == "table":
            fresh, times = "%s (%d)" % (name, times), times + 1
        names.append(fresh)
    return names


# ---- replies ----


def size_of(value):
    import json

    return len(json.dumps(value))


def fit(text, budget):
    """(text, whether it had to be cut) so that it takes at most `budget` bytes of JSON, however it is escaped."""
    if len(text) * 12 <= budget or size_of(text) <= budget:
        return text, False
    low, high = 0, len(text)
    while high - low > 1024:
        middle = (low + high) // 2
        if size_of(text[:middle]) <= budget:
            low = middle
        else:
            high = middle
    return text[:low], True


def fit_list(items, budget):
    kept, left = [], budget
    for item in items:
        left -= size_of(item) + 2
        if left < 0:
            return kept, True
        kept.append(item)
    return kept, False


def page_of(url, what, ctx):
    """(title, content, entries, metadata) of one page."""
    body, answer, truncated = fetch(url, ctx)
    final = answer.url or url
    content_type = answer.headers.get("content-type", "")
    kind = content_type.lower().split(";")[0].strip()
    is_text = not kind or kind.startswith("text/") or "html" in kind or "xml" in kind or kind in ("application/json", "application/octet-stream")
    if not is_text or b"\0" in body[:1024] and not body.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")) and not guessed_wide(body):
        named = kind or "binary data"
        raise Refused("wrong_type", "%s is no page but %s." % (url, named), "%s non è una pagina ma %s." % (url, named))
    text, charset, lossy = as_text(body, content_type, not truncated)
    metadata = {
        "url": url, "final_url": final, "title": "", "status": answer.status, "content_type": content_type, "links": 0, "tables": 0, "charset": charset, "lossy": lossy,
        "truncated": truncated, "bytes": len(body), "what": what,
    }
    start = text[:META_BYTES].lower()
    if kind in ("text/plain", "text/markdown", "text/csv", "application/json") or not ("html" in kind or "xml" in kind or "<" in start and ">" in start):
        # No page of tags: its text is all there is.
        return "", text if what in ("text", "markdown") else "", [], metadata
    page = Page(final, text, what == "markdown", ctx)
    metadata.update(title=page.title, links=len(page.links), tables=len(page.tables), truncated=truncated or page.cut)
    if what == "links":
        content = "\n".join("%s: %s" % (link["text"], link["url"]) if link["text"] else link["url"] for link in page.links)
        return page.title, content, page.links, metadata
    if what == "tables":
        return page.title, "\n\n".join(drawn(rows) for rows in page.tables), page.rows("colonna" if ctx.language == "it" else "column"), metadata
    if what == "title":
        return page.title, page.title, [], metadata
    return page.title, page.text, page.links, metadata


def read_one(url, what, ctx):
    title, content, entries, metadata = page_of(url, what, ctx)
    content, cut = fit(content, REPLY_BYTES // 2)
    entries, short = fit_list(entries, REPLY_BYTES - min(12 * len(content), REPLY_BYTES // 2))
    metadata["truncated"] = metadata["truncated"] or cut or short
    return {"ok": True, "title": title, "content": content, "entries": entries, "metadata": metadata}


def read_many(urls, what, ctx):
    entries, errors, room, left_out = [], [], REPLY_BYTES, 0
    for number, url in enumerate(urls):
        if room < 16384 or ctx.remaining() < RESERVE_S:
            left_out = len(urls) - number
            break
        ctx.progress(number, len(urls), url)
        try:
            _, content, found, entry = page_of(url, what, ctx)
        except Refused as refused:
            errors.append({"url": url, "error_class": refused.error_class, "error": refused.message(ctx)})
            continue
        except ctx.Failure as failure:
            errors.append({"url": url, "error_class": failure.error_class, "error": str(failure.message)})
            continue
        room -= 4096 + 24 * len(url)
        content, cut = fit(content, max(room, 0) // 2)
        room -= size_of(content)
        found, short = fit_list(found, max(room, 0))
        room -= size_of(found)
        entry["truncated"] = entry["truncated"] or cut or short
        entries.append({**entry, "content": content, "found": found})
    metadata = {"count": len(entries), "failed": len(errors), "left_out": left_out}
    metadata["truncated"] = left_out > 0 or any(entry["truncated"] for entry in entries)
    if errors and not entries and not left_out:
        return {"ok": False, "error_class": errors[0]["error_class"], "error": errors[0]["error"], "entries": [], "errors": errors, "metadata": metadata}
    return {"ok": True, "entries": entries, "errors": errors, "metadata": metadata}


def run(args, ctx):
    try:
        what = args.get("what") or "text"
        if what not in ("text", "markdown", "links", "tables", "title"):
            raise Refused("invalid_args", "There is no «%s» of a page." % what, "Di una pagina non esiste «%s»." % what)
        urls = checked_urls(args)
        return read_one(urls[0], what, ctx) if len(urls) == 1 else read_many(urls, what, ctx)
    except Refused as refused:
        return {"ok": False, "error_class": refused.error_class, "error": refused.message(ctx)}
