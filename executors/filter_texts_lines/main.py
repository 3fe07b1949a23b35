"""filter_texts_lines: the lines of a text that match, or that stand at a place.

Pure: it opens nothing. A place (`range`) is looked at first, then what a line holds, then how many of those are kept.
"""

# Matching lines are all in `content`; as entries with their numbers only so many.
ENTRIES_MAX = 10000
ENTRIES_CHARACTERS = 1 << 20
REPLY_BYTES = 32 * 1024 * 1024 - 256 * 1024
PATTERN_MAX = 2000
LOOK_AT_CLOCK_EVERY = 4096
RESERVE_S = 0.5


class Refused(Exception):
    def __init__(self, error_class, english, italian):
        super().__init__(english)
        self.error_class, self.english, self.italian = error_class, english, italian


def cut_lines(text):
    """The lines without their breaks; a last break makes no further line, a lone carriage return is no break."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line[:-1] if line.endswith("\r") else line for line in lines]


def line_test(args):
    """A function line -> bool for what a line must hold; None if nothing was said about that."""
    substring, pattern = args.get("substring"), args.get("regex")
    if substring is not None and pattern is not None:
        raise Refused("invalid_args", "Either a text or a regular expression, not both.", "O un testo o un'espressione regolare, non tutti e due.")
    if substring is not None:
        if args.get("ignore_case", True):
            wanted = substring.casefold()
            return lambda line: wanted in line.casefold()
        return lambda line: substring in line
    if pattern is None:
        return None
    import re

    if len(pattern) > PATTERN_MAX:
        raise Refused("invalid_args", "The regular expression is too long.", "L'espressione regolare è troppo lunga.")
    try:
        search = re.compile(pattern, re.IGNORECASE if args.get("ignore_case") else 0).search
    except (re.error, OverflowError, RecursionError) as error:
        raise Refused("invalid_args", "The regular expression is wrong: %s." % error, "L'espressione regolare è sbagliata: %s." % error)
    return lambda line: search(line) is not None


def whole(value, name, least):
    if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
        raise Refused("invalid_args", "%s must be a whole number." % name, "%s deve essere un numero intero." % name)
    return value


def stretch(wanted, total):
    """(first, one past the last) index of a range whose ends count from 1, or from the end where negative."""
    if not isinstance(wanted, dict):
        raise Refused("invalid_args", "range needs start or end.", "range vuole start o end.")
    start, end = wanted.get("start"), wanted.get("end")
    start = 1 if start is None else whole(start, "start", None)
    end = -1 if end is None else whole(end, "end", None)
    if start == 0 or end == 0:
        raise Refused("invalid_args", "Lines count from 1; there is no line 0.", "Le righe si contano da 1; la riga 0 non esiste.")
    first = start - 1 if start > 0 else total + start
    past = end if end > 0 else total + end + 1
    return max(first, 0), min(max(past, 0), total)


def chosen(lines, args, ctx):
    """Indices of the lines that are kept, and whether the time ended the look."""
    total = len(lines)
    test, invert = line_test(args), bool(args.get("invert"))
    head, tail, span = args.get("head"), args.get("tail"), args.get("range")
    if test is None and head is None and tail is None and span is None:
        raise Refused("invalid_args", "Which lines to keep is missing.", "Manca quali righe tenere.")
    if head is not None and tail is not None:
        raise Refused("invalid_args", "Either the first lines or the last ones, not both.", "O le prime righe o le ultime, non tutte e due.")
    first, past = stretch(span, total) if span is not None else (0, total)
    kept, stopped = range(first, past), False
    if test is not None:
        kept, stopped = matching(lines, kept, test, invert, ctx)
    if head is not None:
        kept = kept[: whole(head, "head", 0)]
    elif tail is not None:
        count = whole(tail, "tail", 0)
        kept = kept[max(len(kept) - count, 0) :]
    if invert and test is None:
        out = set(kept)
        kept = [index for index in range(total) if index not in out]
    return kept, stopped


def matching(lines, candidates, test, invert, ctx):
    kept = []
    for index in candidates:
        if test(lines[index]) != invert:
            kept.append(index)
        if index % LOOK_AT_CLOCK_EVERY == 0 and ctx.remaining() < RESERVE_S:
            return kept, True
    return kept, False


def numbered(lines, kept):
    """Entries with line numbers, as many as a reply should hold."""
    entries, room = [], ENTRIES_CHARACTERS
    for index in kept[:ENTRIES_MAX]:
        room -= len(lines[index])
        if room < 0:
            break
        entries.append({"line": index + 1, "text": lines[index]})
    return entries


def fits(content):
    """Whether the reply can carry it, however many characters must be escaped."""
    room = REPLY_BYTES - 12 * ENTRIES_CHARACTERS
    if len(content) * 12 <= room:
        return True
    import json

    return len(json.dumps(content)) <= room


def texts_of(entries):
    """(path, text) of each entry that holds a text; what could not be read has none."""
    if not isinstance(entries, list):
        raise Refused("missing_input", "The texts to look through are missing.", "Mancano i testi in cui cercare.")
    return [(e.get("path", ""), e["content"]) for e in entries if isinstance(e, dict) and isinstance(e.get("content"), str)]


def run_many(args, ctx):
    """The same look in each of several files: the lines that were kept, under the file that they stand in."""
    found, entries, count, total, files, stopped = [], [], 0, 0, 0, False
    texts = texts_of(args.get("entries"))
    for path, content in texts:
        lines = cut_lines(content)
        kept, late = chosen(lines, args, ctx)
        total, stopped = total + len(lines), stopped or late
        if kept:
            files, count = files + 1, count + len(kept)
            found.append("\n".join([path + ":"] + ["  %d: %s" % (index + 1, lines[index]) for index in kept]))
            if len(entries) < ENTRIES_MAX:
                entries.extend({"path": path, **entry} for entry in numbered(lines, kept))
        if late:
            break
    content = "\n".join(found)
    if not fits(content):
        raise Refused("too_large", "The matching lines are too much for one answer.", "Le righe trovate sono troppe per una risposta.")
    entries = entries[:ENTRIES_MAX]
    numbers = {"count": count, "total_lines": total, "numbered": len(entries), "truncated": stopped}
    return {"ok": True, "content": content, "entries": entries, "metadata": {**numbers, "files": files, "looked_at": len(texts)}}


def run(args, ctx):
    try:
        if "entries" in args:
            return run_many(args, ctx)
        content = args.get("content")
        if not isinstance(content, str):
            raise Refused("missing_input", "The text to look through is missing.", "Manca il testo in cui cercare.")
        lines = cut_lines(content)
        kept, stopped = chosen(lines, args, ctx)
        found = "\n".join([lines[index] for index in kept])
        if not fits(found):
            raise Refused("too_large", "The matching lines are too much for one answer.", "Le righe trovate sono troppe per una risposta.")
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
    entries = numbered(lines, kept)
    return {
        "ok": True,
        "content": found,
        "entries": entries,
        "metadata": {"count": len(kept), "total_lines": len(lines), "numbered": len(entries), "truncated": stopped},
    }
