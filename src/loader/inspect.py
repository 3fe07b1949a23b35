"""Reads birth cases and looks through code, without running either. Runs in the cage like any executor.

No look at text finds every way in which Python can reach code that nobody looked at: the kernel's cage is what holds, and what
is refused here only keeps honest code plain.
"""

import ast
import builtins
import re

RUNS = "runs what it is given as code"
LOADS = "loads code"
LEADS = "leads from a value to the code behind it"

# What no code may hold, and what is said of it. Builtin names: what may not be called may not be passed on either. Imported
# names, wherever they stand in a dotted one. Attributes of anything.
NAMES = {
    RUNS: "eval exec compile breakpoint",
    LOADS: "__import__ __loader__ __spec__",
    LEADS: "__builtins__ globals",
}
IMPORTS = {
    RUNS: "bdb cProfile code codeop ctypes.PyDLL ctypes.pythonapi doctest gettext.c2py inspect.get_annotations pdb profile"
    " timeit trace types.CodeType types.FunctionType types.LambdaType typing.get_type_hints",
    LOADS: "_ctypes _frozen_importlib _frozen_importlib_external _imp _interpreters _pickle _xxsubinterpreters cloudpickle"
    " concurrent.interpreters dill distutils imp importlib joblib jsonpickle logging.config marshal modulefinder"
    " multiprocessing.reduction pickle pickletools pkgutil pydoc.locate pydoc.safeimport runpy setuptools shelve site"
    " sys.meta_path sys.modules sys.path sys.path_hooks sys.path_importer_cache test.support yaml.UnsafeLoader"
    " yaml.unsafe_load zipapp zipimport",
    LEADS: "gc.get_objects gc.get_referents gc.get_referrers",
}
ATTRIBUTES = {
    RUNS: "eval exec",
    LOADS: "__import__ __loader__ __spec__",
    LEADS: "__builtins__ __closure__ __code__ __getattribute__ __globals__ __mro__ __self__ __subclasses__ ag_frame cr_frame"
    " f_back f_builtins f_globals gi_frame tb_frame",
}
# What finds an attribute by its name, and which of its arguments are such names.
BY_NAME = {
    "getattr": slice(1, 2), "setattr": slice(1, 2), "operator.attrgetter": slice(None), "operator.methodcaller": slice(0, 1),
}
# Words that other modules have for things of their own (`re.compile`).
COMMON = {"code", "compile", "imp", "profile", "site", "trace"}

NAMES, IMPORTS, ATTRIBUTES = (
    {word: reason for reason, words in table.items() for word in words.split()} for table in (NAMES, IMPORTS, ATTRIBUTES)
)
GUARDED = {"builtins"} | {name.split(".")[0] for name in IMPORTS}
LAST_WORDS = ["_"] + [word.split(".")[-1] for table in (NAMES, IMPORTS, ATTRIBUTES) for word in table]
FUNCTIONS = {name for name, value in vars(builtins).items() if callable(value) and not isinstance(value, type)}


def run(args, ctx):
    try:
        code = ast.parse(args["code"], "main.py")
    except (SyntaxError, ValueError) as error:
        return {"ok": True, "fault": "main.py%s" % unreadable(error), "cases": []}
    fault = code_fault(code, [name for name in args["functions"] if name])
    try:
        tests = ast.parse(args["tests"], "tests/birth.py")
        cases = birth_cases(tests)
    except (SyntaxError, ValueError) as error:
        return {"ok": True, "fault": fault or "tests/birth.py%s" % unreadable(error), "cases": []}
    return {"ok": True, "fault": fault, "cases": cases}


def unreadable(error):
    """Why a file cannot be read, and where."""
    if isinstance(error, SyntaxError):
        where = " line %d" % error.lineno if error.lineno else ""
        return "%s: %s" % (where, error.msg)
    return ": %s" % error


def code_fault(tree, functions):
    faults = Look(tree).faults()
    if faults:
        return "main.py line %d: %s" % min(faults)
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    missing = [name for name in functions if name not in defined]
    return "main.py defines no function %s(args, ctx)" % missing[0] if missing else None


class Look:
    """One look through a whole module."""

    def __init__(self, tree):
        self.nodes = list(ast.walk(tree))
        self.parent = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}
        self.imported, self.functions, self.values, self.taken = {}, set(FUNCTIONS), set(), set()
        # Twice: what stands for an import may be met before it.
        for node in self.nodes * 2:
            self.learn(node)
        self.functions -= self.values | self.taken

    def learn(self, node):
        """Keeps what a name stands for: something imported, a function, or any value."""
        if isinstance(node, ast.arg):
            self.taken.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self.values.add(node.id)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.name if alias.asname else alias.name.split(".")[0]
                self.imported[alias.asname or bound] = bound
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self.imported[alias.asname or alias.name] = "%s.%s" % (node.module or "", alias.name)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not isinstance(self.parent[node], ast.ClassDef):
            self.functions.add(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and self.path(node.value):
            self.imported.setdefault(node.targets[0].id, self.path(node.value))

    def path(self, node):
        """The dotted name of what was imported; nothing of anything else."""
        if isinstance(node, ast.Name):
            return self.imported.get(node.id)
        above = self.path(node.value) if isinstance(node, ast.Attribute) else None
        return above and "%s.%s" % (above, node.attr)

    def callee(self, node):
        """What is called, as the tables write it."""
        path = self.path(node) or (node.id if isinstance(node, ast.Name) else "")
        return ".".join(path.removeprefix("builtins.").removeprefix("_").split(".")[-2:])

    def is_code(self, node):
        """Whether it is a module or a function, which all other code can be reached from."""
        is_function = isinstance(node, ast.Lambda) or isinstance(node, ast.Name) and node.id in self.functions
        return is_function or self.path(node) is not None

    def is_guarded(self, node):
        """Whether some of what it holds is refused: `getattr(math, op)` reaches no code that nobody looked at."""
        return self.is_code(node) and (self.path(node) or "builtins").split(".")[0] in GUARDED

    def faults(self):
        found = []
        for node in self.nodes:
            found += [(node.lineno, "%s is not allowed: it %s" % fault) for fault in self.names(node) + self.uses(node)]
        return found

    def names(self, node):
        """What is refused for the words that it holds."""
        if isinstance(node, ast.Import):
            return [fault for alias in node.names for fault in of_import(alias.name)]
        if isinstance(node, ast.ImportFrom):
            return [fault for alias in node.names for fault in of_import_from(node.module or "", alias.name)]
        if isinstance(node, ast.Attribute):
            return named(node.attr, ATTRIBUTES) + of_import(self.path(node) or "")
        if isinstance(node, ast.Name):
            return named(node.id, NAMES)
        if isinstance(node, ast.MatchClass):
            return [fault for word in node.kwd_attrs for fault in named(word, ATTRIBUTES)]
        if isinstance(node, (ast.Constant, ast.BinOp)) and not isinstance(self.parent[node], ast.Expr):
            words = re.findall(r"\w+", literal(node) or "")
            return [fault for word in words if word.startswith("__") for fault in named(word, ATTRIBUTES)]
        return []

    def uses(self, node):
        """What is refused for what is done with it."""
        parent = self.parent.get(node)
        if isinstance(node, ast.Attribute) and node.attr == "__dict__" and self.is_code(node.value):
            return [("__dict__ of a module or a function", LEADS)]
        if not isinstance(node, (ast.Name, ast.Attribute)) or isinstance(parent, ast.Attribute):
            return []
        call = parent if isinstance(parent, ast.Call) and parent.func is node else None
        word = self.callee(node)
        if word in BY_NAME:
            return self.found_by_name(word, call)
        if word in self.taken:
            return []
        if word == "vars" and (call is None or not call.args or self.is_code(call.args[0])):
            return [("vars of anything but a plain value", LEADS)]
        if word == "locals" and not self.is_within_function(node):
            return [("locals outside of a function", LEADS)]
        if self.path(node) == "builtins" and not (isinstance(parent, ast.Call) and self.callee(parent.func) == "getattr"):
            return [("builtins as a value", LEADS)]
        return []

    def found_by_name(self, word, call):
        """What is refused of a look-up of an attribute by its name."""
        if call is None or not call.args or any(isinstance(arg, ast.Starred) for arg in call.args):
            return [("%s that is not called on the spot" % word, LEADS)]
        is_late = word.startswith("operator.")
        found = []
        for name in call.args[BY_NAME[word]]:
            said = literal(name)
            if said is not None:
                found += self.found_below(None if is_late else call.args[0], said)
            elif is_late or not is_harmless(name) and (self.is_guarded(call.args[0]) or not is_plain(name)):
                found.append(("%s with a name that is no literal" % word, LEADS))
        return found

    def found_below(self, node, said):
        """What is refused of a literal name, looked up in a value or in whatever comes."""
        found = [fault for word in said.split(".") for fault in named(word, ATTRIBUTES)]
        if node is None or self.is_code(node):
            found += named(said, {"__dict__": LEADS})
        path = self.path(node) if node else None
        return found + (of_import("%s.%s" % (path, said)) if path else [])

    def is_within_function(self, node):
        while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            node = self.parent.get(node)
        return node is not None


def named(word, table):
    return [(word, table[word])] if word in table else []


def of_import(path):
    """What is refused of a dotted name, wherever it is in it."""
    parts = path.split(".")
    if "builtins" in parts[:-1]:
        return named(parts[-1], NAMES)
    found = [".".join(parts[start:end]) for start in range(len(parts)) for end in range(start + 1, len(parts) + 1)]
    found = [name for name in found if name in IMPORTS and (name not in COMMON or parts[0] == name)]
    return named(found[0], IMPORTS) if found else []


def of_import_from(module, name):
    if name == "*":
        inside = [path for path in IMPORTS if path.startswith(module + ".")]
        return of_import(module) or ([("%s, out of all of %s" % (inside[0], module), IMPORTS[inside[0]])] if inside else [])
    return of_import("%s.%s" % (module, name)) or named(name, ATTRIBUTES) or named(name, NAMES)


def literal(node):
    """The text of a literal, or of several that are put together."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = literal(node.left), literal(node.right)
        return None if left is None or right is None else left + right
    return None


def is_plain(node):
    """Whether a name is taken as it is from where it stands."""
    if isinstance(node, ast.Subscript):
        return not isinstance(node.slice, ast.Slice) and is_plain(node.value)
    return isinstance(node, ast.Name) or isinstance(node, ast.Attribute) and is_plain(node.value)


def is_harmless(node):
    """Whether a name begins or ends with a literal that nothing of what is refused begins or ends with."""
    return has_harmless_end(node) or has_harmless_start(node)


def has_harmless_end(node):
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        node = node.right
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[-1]
    end = literal(node) or ""
    return end != "" and not any(word.endswith(end) or end.endswith(word) for word in LAST_WORDS)


def has_harmless_start(node):
    while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        node = node.left
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    head = (literal(node) or "").split("%")[0]
    return head != "" and not any(word.startswith(head) or head.startswith(word) for word in LAST_WORDS)


def birth_cases(tree):
    for node in tree.body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", None) for target in node.targets] == ["CASES"]:
            try:
                cases = ast.literal_eval(node.value)
            except (ValueError, TypeError):
                raise ValueError("CASES holds more than plain data%s: write texts, numbers, lists and dictionaries out" % beyond(node.value))
            if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
                raise ValueError("CASES is no list of dictionaries")
            if len(cases) < 3:
                raise ValueError("CASES holds fewer than three cases")
            return cases
    raise ValueError("there is no list CASES")


def beyond(tree):
    """Where something stands that is no plain data."""
    plain = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)
    lines = [node.lineno for node in ast.walk(tree) if not isinstance(node, plain) and hasattr(node, "lineno")]
    return " (line %d)" % min(lines) if lines else ""
