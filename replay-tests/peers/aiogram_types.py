"""Holds recorded requests and updates, one JSON line each, against the types of the public framework aiogram.

A request passes when its method's type takes every field with its value, and knows every field; so does an update. Each one is also held
against it with a field spoilt, which must not pass: a check that takes everything would prove nothing.
"""

import json
import sys

import pydantic
from aiogram import methods
from aiogram.methods import TelegramMethod
from aiogram.types import Update

TYPES = {
    name[0].lower() + name[1:]: kind
    for name, kind in vars(methods).items()
    if isinstance(kind, type) and issubclass(kind, TelegramMethod)
}
TYPES["update"] = Update


def unknown(model, value, path):
    """Names of fields that a model, or a model within it, does not have."""
    found = []
    fields = {field.alias or name: name for name, field in type(model).model_fields.items()}
    for name, inner in value.items():
        if name not in fields:
            found.append(f"{path}.{name}")
            continue
        taken = getattr(model, fields[name])
        pairs = [(taken, inner)]
        while pairs:
            one, given = pairs.pop()
            if isinstance(one, list) and isinstance(given, list):
                pairs.extend(zip(one, given))
            elif isinstance(one, pydantic.BaseModel) and isinstance(given, dict):
                found.extend(unknown(one, given, f"{path}.{name}"))
    return found


def fault(method, fields):
    """What is wrong with a request; None when nothing is."""
    kind = TYPES.get(method)
    if kind is None:
        return "there is no such method"
    try:
        model = kind.model_validate(fields)
    except pydantic.ValidationError as error:
        return str(error)
    odd = unknown(model, fields, method)
    return f"unknown fields: {odd}" if odd else None


def spoilt(fields):
    """The same request with a field that no method has, and with each of its fields of an impossible kind."""
    yield {**fields, "colour": "red"}
    for name in fields:
        if name not in ("reply_markup",):
            yield {**fields, name: {"nobody": ["has", "this"]}}


def main():
    seen, wrong = {}, []
    for line in sys.stdin:
        method, fields = json.loads(line)
        seen[method] = seen.get(method, 0) + 1
        found = fault(method, fields)
        if found:
            wrong.append(f"{method} {fields}: {found}")
        wrong.extend(f"{method} takes {odd}" for odd in spoilt(fields) if fault(method, odd) is None)
    print(json.dumps({"seen": seen, "wrong": wrong}))


main()
