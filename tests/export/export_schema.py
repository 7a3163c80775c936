"""The JSON schema of exports, made of their types, and a strict check against such a schema."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from typing import Any

import msgspec

from pacenote.export import document, figures
from pacenote.export.document import ExportDocument

_TYPES = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "null": type(None),
    "number": (int, float),
    "object": dict,
    "string": str,
}


@cache
def export_schema() -> dict[str, Any]:
    """Returns the schema: all fields are always there, others never, and each has its documentation."""
    schema = msgspec.json.schema(ExportDocument, schema_hook=_any_value)
    for name, definition in schema["$defs"].items():
        texts = field_texts(name)
        for field, its in definition["properties"].items():
            its.pop("default", None)
            its["description"] = texts[field]
        definition |= {"required": list(definition["properties"]), "additionalProperties": False}
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Races exported by Pacenote",
    }
    return head | schema


def _any_value(kind: type) -> dict[str, Any]:
    assert kind is object
    return {"description": "any JSON value"}


def field_texts(name: str) -> dict[str, str]:
    """Returns the documentation of the fields of a type: the text after each of them."""
    texts: dict[str, str] = {}
    for module in (document, figures):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.ClassDef) and node.name == name:
                for field, text in zip(node.body, node.body[1:], strict=False):
                    if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                        assert isinstance(field.target, ast.Name)
                        texts[field.target.id] = " ".join(ast.literal_eval(text.value).split())
    return texts


def problems(value: object, schema: dict[str, Any], root: dict[str, Any], at: str = "$") -> list[str]:
    """Returns where a value is not what a schema says. A keyword that is not known fails the test."""
    rest, mistakes = dict(schema), list[str]()
    for text in ("$schema", "$defs", "title", "description"):
        rest.pop(text, None)
    if (reference := rest.pop("$ref", None)) is not None:
        name = reference.removeprefix("#/$defs/")
        mistakes += problems(value, root["$defs"][name], root, at)
    if (choices := rest.pop("anyOf", None)) is not None and all(
        problems(value, choice, root, at) for choice in choices
    ):
        mistakes.append(f"{at} is none of the choices")
    if (values := rest.pop("enum", None)) is not None and value not in values:
        mistakes.append(f"{at} is {value!r}, not one of {values}")
    if (kind := rest.pop("type", None)) is not None:
        is_flag = isinstance(value, bool)
        if not isinstance(value, _TYPES[kind]) or is_flag != (kind == "boolean"):
            return [*mistakes, f"{at} is {type(value).__name__}, not {kind}"]
    mistakes += _parts_problems(value, rest, root, at)
    assert rest == {}, f"{at}: the check does not know {sorted(rest)}"
    return mistakes


def _parts_problems(value: object, rest: dict[str, Any], root: dict[str, Any], at: str) -> list[str]:
    mistakes = list[str]()
    items = rest.pop("items", None)
    if items is not None and isinstance(value, list):
        for number, item in enumerate(value):
            mistakes += problems(item, items, root, f"{at}[{number}]")
    properties, others = rest.pop("properties", {}), rest.pop("additionalProperties", {})
    required = rest.pop("required", ())
    if isinstance(value, dict):
        mistakes += [f"{at} lacks {name}" for name in required if name not in value]
        for name, item in value.items():
            its = properties.get(name, others)
            if its is False:
                mistakes.append(f"{at} has the unknown field {name}")
            else:
                mistakes += problems(item, its, root, f"{at}.{name}")
    return mistakes
