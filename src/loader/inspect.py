"""Reads birth cases and looks through code, without running either. Runs in the cage like any executor."""

import ast

# Wherever the name stands: what may not be called may not be passed on either.
FORBIDDEN_NAMES = {"eval", "exec", "compile", "breakpoint", "__import__", "__builtins__", "__loader__", "__spec__"}
# Ways from an object to what it was made by or with.
FORBIDDEN_ATTRIBUTES = {
    "__builtins__", "__globals__", "__import__", "__loader__", "__spec__", "__subclasses__",
    "eval", "exec", "f_builtins", "f_globals", "gi_frame", "cr_frame", "tb_frame",
}
# What loads code, or runs code that it is given as text or bytes.
FORBIDDEN_MODULES = {
    "_ctypes", "_frozen_importlib", "_frozen_importlib_external", "_imp", "_pickle", "bdb", "cProfile", "code",
    "codeop", "ctypes", "doctest", "imp", "importlib", "marshal", "modulefinder", "pdb", "pickle", "pickletools", "pkgutil",
    "profile", "runpy", "shelve", "site", "timeit", "trace", "zipapp", "zipimport",
}


def run(args, ctx):
    try:
        code = ast.parse(args["code"], "main.py")
    except (SyntaxError, ValueError) as error:
        return {"ok": True, "fault": "main.py line %s: %s" % (getattr(error, "lineno", "?"), error), "cases": []}
    fault = code_fault(code, [name for name in args["functions"] if name])
    try:
        tests = ast.parse(args["tests"], "tests/birth.py")
        cases = birth_cases(tests)
    except (SyntaxError, ValueError, TypeError) as error:
        return {"ok": True, "fault": fault or "tests/birth.py: %s" % error, "cases": []}
    return {"ok": True, "fault": fault, "cases": cases}


def code_fault(tree, functions):
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            if name.split(".")[0] in FORBIDDEN_MODULES:
                return "main.py line %d: dynamic import (%s)" % (node.lineno, name)
        word = None
        if isinstance(node, ast.Name) and node.id in FORBIDDEN_NAMES:
            word = node.id
        elif isinstance(node, ast.Attribute) and node.attr in FORBIDDEN_ATTRIBUTES:
            word = node.attr
        elif isinstance(node, ast.Attribute) and node.attr == "modules" and getattr(node.value, "id", None) == "sys":
            word = "sys.modules"
        elif isinstance(node, ast.ImportFrom) and FORBIDDEN_NAMES.intersection(name.name for name in node.names):
            word = ", ".join(sorted(FORBIDDEN_NAMES.intersection(name.name for name in node.names)))
        elif isinstance(node, ast.ImportFrom) and node.module == "sys" and "modules" in [name.name for name in node.names]:
            word = "sys.modules"
        if word:
            return "main.py line %d: %s is not allowed" % (node.lineno, word)
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    missing = [name for name in functions if name not in defined]
    return "main.py defines no function %s(args, ctx)" % missing[0] if missing else None


def birth_cases(tree):
    for node in tree.body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", None) for target in node.targets] == ["CASES"]:
            cases = ast.literal_eval(node.value)
            if not isinstance(cases, list) or len(cases) < 3:
                raise ValueError("CASES holds fewer than three cases")
            return cases
    raise ValueError("there is no list CASES")
