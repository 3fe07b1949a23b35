"""Reads birth cases and looks through code, without running either. Runs in the cage like any executor."""

import ast

FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "breakpoint"}
FORBIDDEN_MODULES = {"importlib", "imp", "pkgutil", "runpy", "ctypes"}


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
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else None
            if called in FORBIDDEN_CALLS:
                return "main.py line %d: %s() is not allowed" % (node.lineno, called)
        if isinstance(node, (ast.Name, ast.Attribute)):
            word = node.id if isinstance(node, ast.Name) else node.attr
            if word in ("__import__", "__builtins__", "__loader__", "__subclasses__"):
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
