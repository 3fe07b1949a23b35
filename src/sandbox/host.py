# The host side of one executor call: takes arguments and code from the channel, runs it, answers once.
# Only builtin modules are imported here: json alone would cost more than the cage.
import marshal
import posix
import sys
import time


class Failure(Exception):
    def __init__(self, error_class, message):
        super().__init__(message)
        self.error_class = error_class
        self.message = message


def _read(fd, count):
    parts = []
    while count:
        part = posix.read(fd, min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _take(fd):
    return _read(fd, int.from_bytes(_read(fd, 4), "big"))


def _put(fd, body):
    rest = memoryview(len(body).to_bytes(4, "big") + body)
    while rest:
        rest = rest[posix.write(fd, rest):]


class _Reading:
    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo = {}

    @staticmethod
    def parse_constant(name):
        raise ValueError(name)


def _refuse(value):
    raise TypeError("a value of type %s is no JSON" % type(value).__name__)


try:
    import _json

    _scan = _json.make_scanner(_Reading())

    def _encode(value):
        return "".join(_json.make_encoder({}, _refuse, _json.encode_basestring_ascii, None, ":", ",", False, False, False)(value, 0))

    _encode({"probe": [1, 2.5, None]})

    def _decode(text):
        return _scan(text, 0)[0]

except Exception:
    import json

    def _encode(value):
        return json.dumps(value, allow_nan=False, default=_refuse, separators=(",", ":"))

    _decode = json.loads


def _plain(value):
    # Lone surrogates (names that are not UTF-8) are spelled out, since no JSON reader need take them.
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _json_bytes(value):
    text = _encode(value)
    if "\\ud" in text:
        text = _encode(_plain(value))
    return text.encode("ascii")


class _Answer:
    __slots__ = ("status", "headers", "body", "url", "truncated")


class _Context:
    Failure = Failure

    def __init__(self, channel, net, first):
        given = first["context"]
        self._channel = channel
        self._net = net
        self._end = time.monotonic() + first["wall_ms"] / 1000
        self.stage = first["stage"]
        for name in ("workspace", "turn_id", "trace_id", "language", "timezone"):
            setattr(self, name, given.get(name))
        self.config = given.get("config") or {}
        self.credentials = given.get("credentials") or {}

    @property
    def deadline(self):
        return self.remaining()

    def remaining(self):
        return max(0.0, self._end - time.monotonic())

    def progress(self, done, total=0, text=""):
        _put(self._channel, _json_bytes({"progress": [float(done), float(total or 0), str(text)[:500]]}))

    def log(self, text):
        _put(self._channel, _json_bytes({"log": str(text)[:4096]}))

    def http(self, method, url, headers=None, body=None):
        if self._net < 0:
            raise Failure("policy_violation", "this executor was granted no network")
        if isinstance(body, str):
            body = body.encode("utf-8")
        request = {"method": str(method), "url": str(url), "headers": [[str(k), str(v)] for k, v in (headers or {}).items()]}
        request, body = _json_bytes(request), bytes(body or b"")
        try:
            _put(self._net, request)
            _put(self._net, body)
            head = _decode(_take(self._net).decode("utf-8"))
            content = _take(self._net)
        except (OSError, EOFError, ValueError):
            # It ended, or what is left of the way to it cannot be used any more.
            raise Failure("network", "the way to the network is gone") from None
        if "error_class" in head:
            raise Failure(head["error_class"], head["error"])
        answer = _Answer()
        answer.status, answer.url, answer.truncated, answer.body = head["status"], head["url"], head["truncated"], content
        answer.headers = {}
        for name, value in head["headers"]:
            answer.headers[name] = answer.headers[name] + ", " + value if name in answer.headers else value
        return answer


def _fault(error_class, error):
    return _json_bytes({"failed": [error_class, error[:2000]]})


def _result(run, args, context):
    try:
        return run(args, context)
    except Failure as failure:
        return {"ok": False, "error_class": str(failure.error_class), "error": str(failure.message)}


def _answer(first, code, context):
    space = {"__name__": "main", "__file__": "main.py", "__builtins__": __builtins__}
    try:
        if first["compiled"]:
            code = marshal.loads(code)
        else:
            # As text, as it was looked through: of bytes, a line at their top could say that they mean other letters.
            code = compile(str(code, "utf-8"), "main.py", "exec", dont_inherit=True)
        entry = first["entry"]
        if not entry:
            # Nothing of it runs: this cage is for compiling alone.
            return _json_bytes({"reply": {"ok": True, "compiled": marshal.dumps(code).hex()}})
        exec(code, space)
        if not callable(space.get(entry)):
            return _fault("contract_violation", "main.py defines no %s(args, ctx)" % entry)
        result = _result(space[entry], first["args"], context)
    except BaseException as error:
        import traceback

        traceback.print_exc()
        if isinstance(error, MemoryError):
            return _fault("crashed", "it needed more memory than it may have (memory_mb in its manifest)")
        said = str(error)
        return _fault("crashed", type(error).__name__ + (": " + said if said else ""))
    if not isinstance(result, dict) or not isinstance(result.get("ok"), bool):
        return _fault("contract_violation", "%s() returned no object with a boolean «ok»" % first["entry"])
    try:
        body = _json_bytes(result)
    except MemoryError:
        return _fault("too_large", "the result does not fit the memory that is left; %d bytes are allowed" % first["output_bytes_max"])
    except BaseException as error:
        return _fault("non_json", "the result is no JSON: %s" % (str(error) or type(error).__name__))
    if len(body) > first["output_bytes_max"]:
        return _fault("too_large", "the result has %d bytes, more than the %d that are allowed" % (len(body), first["output_bytes_max"]))
    return b'{"reply":' + body + b"}"


def _frame(fd, held):
    # The next frame and what came after it, of which some may have come already.
    if len(held) < 4:
        held += _read(fd, 4 - len(held))
    end = 4 + int.from_bytes(held[:4], "big")
    if len(held) < end:
        return held[4:] + _read(fd, end - len(held)), b""
    return held[4:end], held[end:]


def _call(source, sink, net):
    held = posix.read(source, 1 << 16)
    if not held:
        raise EOFError
    first, held = _frame(source, held)
    code, held = _frame(source, held)
    first = _decode(first.decode("utf-8"))
    answer = _answer(first, code, _Context(sink, net, first))
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    _put(sink, answer)


def _rehearse(code):
    # What a first call would load and touch is loaded and touched while nobody waits for it.
    source, sink = posix.pipe()
    _put(sink, b'{"args":{"n":[1,2.5]},"context":{},"stage":"/","entry":"run","compiled":true,"wall_ms":1,"output_bytes_max":64}')
    _put(sink, code)
    _call(source, sink, -1)
    _take(source)
    posix.close(source)
    posix.close(sink)


def _let_go(code):
    # Whoever called waits for the end of the process, which takes the longer the more pages are mapped, and most of them were
    # needed to start only. Pages that are as they lie in their files are let go here; those that are needed come back.
    # Returns a way to end that needs none of them: the usual one would first look its name up.
    import _ctypes

    # A plain number would be passed as an int of C.
    class Word(_ctypes._SimpleCData):
        _type_ = "P"

    places = []
    with open("/proc/self/smaps", encoding="utf-8", errors="surrogateescape") as smaps:
        for line in smaps:
            words = line.split()
            if words[0] in ("Anonymous:", "Swap:", "Shared_Dirty:", "Private_Dirty:"):
                places[-1][2] += int(words[1])
            elif "-" in words[0]:
                start, end = (int(word, 16) for word in words[0].split("-"))
                is_file = words[1][1] == "-" and words[5:] and words[5].startswith("/")
                places.append([start, end - start, 0 if is_file else 1])
    del sys.modules["_ctypes"]
    library, call, dont_need = _ctypes.dlopen(None, 2), _ctypes.call_function, 4
    advise, close, leave = (_ctypes.dlsym(library, name) for name in ("madvise", "close", "_exit"))
    for start, size, changed in places:
        if not changed:
            call(advise, (Word(start), Word(size), dont_need))
    # Like a call and its end, so that what these need is there: the first runs, the second closes nothing.
    _rehearse(code)
    call(close, (-1,))
    return lambda: call(leave, (0,))


def _main():
    channel, net, waits = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "waits"
    sys.argv = ["main.py"]
    leave = lambda: posix._exit(0)
    code = "def run(args, ctx):\n    return {'ok': True, 'n': 1}\n"
    code = marshal.dumps(compile(code, "main.py", "exec", dont_inherit=True))
    _rehearse(code)
    if waits:
        try:
            leave = _let_go(code)
        except Exception:
            # An interpreter without that module, a kernel without that file: the end takes longer, and nothing else.
            pass
    try:
        _call(channel, channel, net)
    except EOFError:
        posix._exit(3)
    leave()


_main()
