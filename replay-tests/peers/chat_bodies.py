"""Holds request bodies, one JSON object a line, against the types of the official client of chat completions."""

import json
import sys

from openai.types.chat.completion_create_params import CompletionCreateParams
from pydantic import TypeAdapter, ValidationError

# What llama-server takes beside the official fields.
OURS = {"chat_template_kwargs"}



def walk(value):
    """Goes through a value; lists are checked only then."""
    if isinstance(value, dict):
        for inner in value.values():
            walk(inner)
    elif not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        for inner in value:
            walk(inner)


adapter = TypeAdapter(CompletionCreateParams)
count = 0
for number, line in enumerate(sys.stdin, 1):
    body = json.loads(line)
    count += 1
    try:
        known = adapter.validate_python({name: value for name, value in body.items() if name not in OURS}, strict=False)
        lost = set(body) - OURS - set(known)
        if lost:
            print(f"line {number}: unknown fields {sorted(lost)}")
        walk(known)
    except ValidationError as error:
        print(f"line {number}: {error}")
print(f"checked {count}")
