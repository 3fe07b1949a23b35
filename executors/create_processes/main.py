"""create_processes: runs one program of a short list with its arguments and returns what it writes.

There is no shell: what was asked for is one program and a list of arguments, and no sign in them means anything. The
program sees the folder that was named and nothing else of the machine, changes nothing in it, and has no network.
"""

import os

# The same list as in the manifest, which is what the cage obeys; here it only makes for a better answer.
PROGRAMS = (
    "date", "cal", "uname", "df", "du", "wc", "sort", "uniq", "head", "tail", "cut", "tr", "file", "stat", "md5sum", "sha256sum", "echo", "printf", "seq", "bc",
)
PACKAGES = {"cal": "ncal", "bc": "bc", "file": "file"}
# What is kept of the output; a program that writes much more than that is ended.
KEPT_BYTES = 1 << 20
STDERR_BYTES = 64 * 1024
WRITTEN_MAX = 256 << 20
REPLY_BYTES = 3 * 1024 * 1024 - 512 * 1024
RESERVE_S = 1.0


class Refused(Exception):
    def __init__(self, error_class, english, italian):
        super().__init__(english)
        self.error_class, self.english, self.italian = error_class, english, italian


# ---- what is to run ----


def checked(args):
    """The program and its arguments."""
    argv = args.get("argv")
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv) or not argv[0].strip():
        raise Refused("missing_input", "Which program to run is missing.", "Manca il programma da eseguire.")
    if any("\0" in word for word in argv):
        raise Refused("invalid_args", "An argument holds a character that no argument can have.", "Un argomento contiene un carattere impossibile.")
    program = argv[0]
    if program not in PROGRAMS:
        listed = ", ".join(PROGRAMS)
        hint = " " in program.strip()
        raise Refused(
            "policy_violation",
            "«%s» is not one of the programs that may run: %s.%s" % (program[:200], listed, " Each argument stands for itself in the list." if hint else ""),
            "«%s» non è uno dei programmi che si possono eseguire: %s.%s" % (program[:200], listed, " Ogni argomento sta per sé nella lista." if hint else ""),
        )
    return argv


def folder_of(args):
    folder = args.get("folder")
    if folder is None:
        return os.environ.get("TMPDIR") or "/tmp"
    try:
        path = folder.encode("utf-8", "surrogateescape")
        if not os.path.isdir(path):
            known = os.path.exists(path)
            raise Refused(
                "wrong_type" if known else "not_found",
                "%s is no folder." % folder if known else "There is no folder %s." % folder,
                "%s non è una cartella." % folder if known else "La cartella %s non esiste." % folder,
            )
    except (UnicodeEncodeError, ValueError):
        raise Refused("invalid_args", "The folder's path is no path.", "Il percorso della cartella non è un percorso.")
    return path


def standard_input(text):
    """A descriptor to read the text from; all of it is there before the program starts, so that it never waits for us."""
    if not text:
        return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    path = os.path.join(os.environ.get("TMPDIR") or "/tmp", "stdin-%d" % os.getpid())
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.unlink(path)
    data = memoryview(text.encode("utf-8", "surrogateescape"))
    while data:
        data = data[os.write(descriptor, data) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


# ---- running ----


class Run:
    """One program, its output and how it ended."""

    def __init__(self, argv, folder, stdin, ctx):
        self.argv, self.ctx = argv, ctx
        self.out, self.err, self.written = bytearray(), bytearray(), 0
        self.late = self.too_much = False
        self.process = self.start(folder, stdin)

    def start(self, folder, stdin):
        import subprocess

        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": os.environ.get("TMPDIR") or "/tmp"}
        if self.ctx.timezone:
            environment["TZ"] = self.ctx.timezone
        try:
            return subprocess.Popen(self.argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=environment)
        except FileNotFoundError:
            package = PACKAGES.get(self.argv[0], "coreutils")
            raise Refused(
                "binary_missing",
                "The program %s is not installed: apt install %s" % (self.argv[0], package),
                "Il programma %s non è installato: apt install %s" % (self.argv[0], package),
            )
        except PermissionError:
            raise Refused(
                "permission_denied",
                "No program can be started here, or the folder may not be entered.",
                "Qui non si può avviare nessun programma, o nella cartella non si può entrare.",
            )
        except (OSError, ValueError) as error:
            raise Refused("operation_failed", "%s cannot be started: %s." % (self.argv[0], error), "%s non si può avviare: %s." % (self.argv[0], error))

    def drain(self):
        """Reads both streams to their end, or until it is too much or too late; then the program is killed."""
        import selectors

        with selectors.DefaultSelector() as waiting:
            waiting.register(self.process.stdout, selectors.EVENT_READ)
            waiting.register(self.process.stderr, selectors.EVENT_READ)
            while waiting.get_map() and not (self.late or self.too_much):
                for key, _ in waiting.select(0.2):
                    data = os.read(key.fd, 1 << 16)
                    if not data:
                        waiting.unregister(key.fileobj)
                    elif key.fileobj is self.process.stdout:
                        self.written += len(data)
                        self.out += data[: max(KEPT_BYTES - len(self.out), 0)]
                    else:
                        self.err += data[: max(STDERR_BYTES - len(self.err), 0)]
                self.late = self.ctx.remaining() < RESERVE_S
                self.too_much = self.written > WRITTEN_MAX
        if self.late or self.too_much:
            self.process.kill()
        return self.process.wait()


def signal_name(number):
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal %d" % number


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


def run(args, ctx):
    import time

    try:
        argv = checked(args)
        folder, stdin = folder_of(args), standard_input(args.get("stdin"))
        began = time.monotonic()
        try:
            running = Run(argv, folder, stdin, ctx)
        finally:
            os.close(stdin)
        code = running.drain()
        if running.late:
            raise Refused("timeout", "%s did not end in time and was stopped." % argv[0], "%s non è finito in tempo ed è stato fermato." % argv[0])
    except Refused as refused:
        message = refused.italian if ctx.language == "it" else refused.english
        return {"ok": False, "error_class": refused.error_class, "error": message}
    milliseconds = int((time.monotonic() - began) * 1000)
    binary = b"\0" in running.out
    text = "" if binary else running.out.decode("utf-8", "replace")
    content, cut = fit(text, REPLY_BYTES)
    metadata = {
        "program": argv[0],
        "exit_code": code if code >= 0 else None,
        "stderr": running.err.decode("utf-8", "replace").replace("\0", ""),
        "duration_ms": milliseconds,
        "truncated": cut or running.written > len(running.out),
        "lossy": not binary and "\ufffd" in text,
        "binary": binary,
        "bytes": running.written,
    }
    if code < 0:
        metadata["signal"] = signal_name(-code)
    unseen = [word for word in argv[1:] if word.startswith("/") and not os.path.exists(word)]
    if code and unseen:
        metadata["unseen"] = unseen[:20]
    return {"ok": True, "content": content, "metadata": metadata}
