"""What an answer in JSON must hold: fields with types and ranges, from a recipe or a JSON Schema."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from corpusmill.errors import RecipeError, did_you_mean

Kind = Literal["integer", "number", "boolean", "text"]
JSON_KINDS: dict[str, Kind] = {"integer": "integer", "number": "number", "boolean": "boolean", "string": "text"}
READ = ("type", "enum", "minimum", "maximum", "maxLength", "title", "description")  # of the schema of a field


@dataclass(frozen=True, kw_only=True)
class Field:
    """What a model is to say of a document, a signal.

    type      of the value
    min, max  of a number, both included; of a text, `max` characters
    choices   the texts that it may be
    about     what it means, for the model
    """

    type: Kind = "text"
    min: float | None = None
    max: float | None = None
    choices: tuple[str, ...] = ()
    about: str = ""

    def __post_init__(self) -> None:
        if self.choices and self.type != "text":
            raise RecipeError(f"choices are texts, and the type is {self.type}; leave one of them out")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise RecipeError(f"need min <= max, got {self.min:g} and {self.max:g}")
        if self.type == "boolean" and (self.min, self.max) != (None, None):
            raise RecipeError("a boolean has neither min nor max")

    def schema(self) -> dict[str, Any]:
        """Its JSON Schema."""
        json_type = next(name for name, kind in JSON_KINDS.items() if kind == self.type)
        values: dict[str, Any] = {"type": json_type, "description": self.about, "enum": list(self.choices)}
        if self.type == "text":
            values["maxLength"] = None if self.max is None else int(self.max)
        else:
            values |= {"minimum": _plain(self.min), "maximum": _plain(self.max)}
        return {name: value for name, value in values.items() if value not in (None, "", [])}

    def problem(self, value: Any) -> str | None:
        """Why a value is not one of this field; None if it is."""
        if self.type == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has one kind of number
        fits = {
            "integer": isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63,
            "number": isinstance(value, int | float) and not isinstance(value, bool),
            "boolean": isinstance(value, bool),
            "text": isinstance(value, str),
        }
        if not fits[self.type]:
            return f"must be {'an' if self.type == 'integer' else 'a'} {self.type}, got {_shown(value)}"
        if self.choices and value not in self.choices:
            return f"must be one of {', '.join(self.choices)}, got {_shown(value)}"
        size = len(value) if self.type == "text" else value
        if self.min is not None and size < self.min:
            return f"must be at least {self.min:g}, got {_shown(value)}"
        if self.max is not None and size > self.max:
            return f"must be at most {self.max:g}, got {_shown(value)}"
        return None


Fields = tuple[tuple[str, Field], ...]


def schema_of(fields: Fields) -> dict[str, Any]:
    """The JSON Schema of an object with these fields."""
    return {
        "type": "object",
        "properties": {name: field.schema() for name, field in fields},
        "required": [name for name, _ in fields],
        "additionalProperties": False,
    }


def parsed(text: str, fields: Fields) -> dict[str, Any] | str:
    """The values in an answer; or what is wrong with it, as a sentence for the model.

    What surrounds the first object, such as a fence of Markdown, is left out, as are fields that were not asked for.
    """
    start, stop = text.find("{"), text.rfind("}")
    try:
        answer = orjson.loads(text[start : stop + 1]) if start >= 0 else None
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        return f"The answer must be one JSON object, got {_shown(text)}."
    problems = []
    for name, field in fields:
        problem = field.problem(answer[name]) if name in answer else "is missing"
        if problem:
            problems.append(f'"{name}" {problem}')
    return f"{'; '.join(problems)}." if problems else {name: answer[name] for name, _ in fields}


def fields_of(schema: Any, where: str) -> Fields:
    """The fields of a JSON Schema. Raises RecipeError if it asks for more than `Field` can check.

    where   the file, for messages
    """
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not properties:
        raise RecipeError(f'{where}: a schema is an object with "properties", one for each signal')
    fields = []
    for name, about in properties.items():
        unread = [key for key in about if key not in READ]
        kind = JSON_KINDS.get(about.get("type", "string" if "enum" in about else ""))
        if unread or kind is None:
            what = f'"{unread[0]}"' if unread else f'the type "{about.get("type")}"'
            hint = did_you_mean(unread[0], READ) if unread else f" Types are {', '.join(JSON_KINDS)}."
            raise RecipeError(
                f"{where}: {name}: {what} is not checked here, and what is not checked is not asked for{hint}"
            )
        low, high = about.get("minimum"), about.get("maxLength" if kind == "text" else "maximum")
        choices, note = tuple(map(str, about.get("enum", ()))), about.get("description", "")
        fields.append((name, Field(type=kind, min=low, max=high, choices=choices, about=note)))
    return tuple(fields)


def _plain(bound: float | None) -> float | int | None:
    return int(bound) if bound is not None and float(bound).is_integer() else bound


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return f'"{text[:60]}…"' if len(text) > 60 else f'"{text}"' if isinstance(value, str) else text
