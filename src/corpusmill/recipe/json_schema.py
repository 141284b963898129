"""The JSON Schema of recipes, for editors: made from the registries and the dataclasses that a recipe is checked with.

It accepts what `corpusmill.recipe.load` accepts. It cannot say what depends on several parts, such as the order of
steps, or on files: `corpusmill check` does.
"""

import dataclasses
import inspect
import re
import types
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from corpusmill import execute, read, steps, write
from corpusmill.errors import CorpusmillError
from corpusmill.recipe.canaries import Canary
from corpusmill.recipe.parts import RunSettings, Source
from corpusmill.recipe.split import Split
from corpusmill.recipe.training_stage import TrainingStage
from corpusmill.recipe.values import form_of, is_required, parameters, plain
from corpusmill.steps.describe import notes, summary

Schema = dict[str, Any]

VARIABLE = r"\$\{"  # text that holds an environment variable may become any scalar
OWN_CLASS = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"
NONEMPTY_TEXT = {"type": "string", "minLength": 1}
ONE_OR_MORE = {
    "type": ["string", "array"],
    "items": NONEMPTY_TEXT,
    "minItems": 1,
    "minLength": 1,
}  # one, or a list of them
STEPS = "What is done to each document, in this order."
WRITE = "Output formats. The folder of the run has the kept documents in any case."
OF_ALL_SOURCES = ("mix/", "tokenize/", "pack/")  # these take neither `only` nor `except`
JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "string", types.NoneType: "null"}
PROBES = {int: (-1, 0, 1, 2), float: (-0.5, 0.0, 0.5, 1.0, 1.5)}


def recipe_schema() -> Schema:
    """The schema of a whole recipe, draft 2020-12."""
    run = _object(RunSettings)
    run["properties"]["executor"] |= {"enum": list(execute.EXECUTORS)}
    del run["markdownDescription"]  # its parameters have what more it says
    sections = {"steps": _section(STEPS, "step"), "write": _section(WRITE, "writer")}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "What to read, what to do with it, what to write. `corpusmill check` checks all of it.",
        "type": "object",
        "properties": {
            "name": {
                "type": "string",
                "description": "The name of the run's folder, runs/NAME; the name of the file if not given.",
                "pattern": r"^[^./\\\x00][^/\\\x00]*$",
            },
            "seed": {
                "type": ["integer", "string"],
                "pattern": VARIABLE,
                "minimum": 0,
                "exclusiveMaximum": 2**64,
                "default": 0,
                "description": "The seed of all random draws, together with the ids of documents.",
            },
            "read": _section("Sources. Of duplicates, the one from the earlier source is kept.", "reader"),
            "extends": {
                "description": "A recipe to build on: the name of one that ships, or a file. `steps` and `write` as "
                "mappings change it, by step.",
                **NONEMPTY_TEXT,
            },
            "steps": {"description": STEPS},
            "write": {"description": WRITE},
            "split": {"$ref": "#/$defs/split"},
            "stages": {
                "description": "Stages of training, each with a budget, and its own mixture, row length and tokens.",
                "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/stage"}}, {"$ref": "#/$defs/stage"}],
            },
            "canary": {
                "description": "Strings to plant, to find out later what a model remembers.",
                "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/canary"}}, {"$ref": "#/$defs/canary"}],
            },
            "run": run,
        },
        "if": {"required": ["extends"]},
        "then": {"properties": {name: _changed(section) for name, section in sections.items()}},
        "else": {"properties": sections, "required": ["read"]},
        "additionalProperties": False,
        "$defs": {
            "changes": {
                "type": "object",
                "description": "LABEL: parameters that change, or null for without it; `after LABEL`, `before LABEL`: "
                "what is added there.",
                "additionalProperties": {"type": ["object", "array", "string", "null"]},
            },
            "reader": _named_part({name: _reader(read.find(name)) for name in read.names()}, reader=True),
            "step": _named_part({name: _step(name) for name in steps.names()}),
            "canary": _object(Canary),
            "split": _object(Split),
            "stage": _stage(),
            "writer": _named_part({name: _object(write.find(name)) for name in write.names()}),
        },
    }


def _changed(section: Schema) -> Schema:
    """What a recipe that extends another may have in place of a section: changes by label."""
    return {**section, "anyOf": [*section["anyOf"], {"$ref": "#/$defs/changes"}]}


def _section(description: str, kind: str) -> Schema:
    """A list of things, or one of them by itself."""
    listed: Schema = {"type": "array", "items": {"$ref": f"#/$defs/{kind}"}}
    if kind == "reader":
        listed["minItems"] = 1
    return {"description": description, "anyOf": [listed, {"$ref": f"#/$defs/{kind}"}]}


def _named_part(parts: Mapping[str, Schema], reader: bool = False) -> Schema:
    """A name, or a mapping of one name to its parameters. A reader always has parameters: its paths.

    yaml-language-server completes the names of a mapping in a list only from `defaultSnippets`, and the others from
    `enum`.
    """
    mapping: Schema = {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {name: {"title": name} | schema for name, schema in parts.items()},
        "patternProperties": {OWN_CLASS: {"description": "A class of your own, as module:Class, with its parameters."}},
        "additionalProperties": False,
        "defaultSnippets": [
            {"label": name, "description": schema["description"], "body": {name: _to_fill_in(schema["required"])}}
            for name, schema in parts.items()
            if schema.get("required")
        ],
    }
    if reader:
        return mapping
    alone = {name: schema["description"] for name, schema in parts.items() if not schema.get("required")}
    names: Schema = {"type": "string", "enum": list(alone), "enumDescriptions": list(alone.values())}
    own: Schema = {"type": "string", "pattern": OWN_CLASS, "description": "A class of your own, as module:Class."}
    return {"anyOf": [names, own, mapping]}


def _to_fill_in(required: Sequence[str]) -> dict[str, str]:
    """What editors write for parameters that must be given; the cursor is placed at each in turn."""
    return {name: f"${number}" for number, name in enumerate(required, 1)}


def _step(name: str) -> Schema:
    cls = steps.find(name)
    schema = _object(cls)
    if not name.startswith(OF_ALL_SOURCES):
        schema["properties"] |= {
            "only": {"description": "Names of the sources that this step is for; all if not given."} | ONE_OR_MORE,
            "except": {"description": "Names of the sources that this step is not for."} | ONE_OR_MORE,
        }
        schema["not"] = {"type": "object", "required": ["only", "except"]}
    if main := getattr(cls, "main_parameter", None):  # it may be given without its name
        kinds = schema["properties"][main]["type"]
        schema["type"] = [*schema["type"], *([kinds] if isinstance(kinds, str) else kinds)]
    return schema


def _stage() -> Schema:
    schema = _object(TrainingStage)
    step = {"$ref": "#/$defs/step"}
    for name, value in (("tokenize", step), ("pack", step), ("shards", _object(write.find("shards")))):
        schema["properties"][name] = {"description": schema["properties"][name]["description"]} | value
    return schema


def _reader(cls: type[Any]) -> Schema:
    """A reader with the settings of a source; its paths alone in the short form."""
    notes_of_source = _documented(Source)
    own: Schema = {
        key: {"type": "string", "description": notes_of_source[key]} for key in ("source", "subset", "split", "root")
    }
    own["exclude"] = ONE_OR_MORE | {"description": notes_of_source["exclude"]}
    schema = _object(cls)
    required = [*(() if hasattr(cls, "location") else ("paths",)), *schema.get("required", ())]
    schema |= ONE_OR_MORE | {"type": ["string", "array", "object"], "required": required}
    schema["properties"] = {
        "paths": ONE_OR_MORE | {"description": notes_of_source["paths"]},
        **own,
        **schema["properties"],
    }
    return schema


def _object(cls: type[Any]) -> Schema:
    """A dataclass as a mapping of its parameters. Nothing at all is one without parameters."""
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    annotations = parameters(cls)
    descriptions = _documented(cls) | notes(cls)
    properties = {
        name: _parameter(cls, field, annotations[name], descriptions.get(name, "")) for name, field in fields.items()
    }
    required = [name for name, field in fields.items() if is_required(field)]
    doc = inspect.cleandoc(cls.__doc__ or "")
    schema: Schema = {
        "description": summary(doc),
        "markdownDescription": doc,  # what editors show, where they know it
        "type": ["object"] if required else ["object", "null"],
        "properties": properties,
        "additionalProperties": False,
    }
    return schema | ({"required": required} if required else {})


def _parameter(cls: type[Any], field: "dataclasses.Field[Any]", annotation: Any, note: str) -> Schema:
    schema = _schema_of(annotation)
    if note:
        schema["description"] = note[0].upper() + note[1:]
    if field.name == "rules" and (switches := getattr(cls, "SWITCHES", ())):
        schema["items"] = {"enum": list(switches)}
    if not is_required(field):
        value = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        schema["default"] = plain(value, annotation)
    for kind in (int, float):
        if annotation in (kind, kind | None):
            schema |= _range(cls, field.name, kind)
    return schema


def _schema_of(annotation: Any) -> Schema:
    """What `corpusmill.recipe.values.convert` takes for an annotation."""
    form = form_of(annotation)
    options = form.parts if form.kind == "union" else (annotation,)
    scalars = [JSON_TYPES[option] for option in options if option in JSON_TYPES]
    schemas = [_compound(option) for option in options if option not in JSON_TYPES]
    if scalars:
        if "string" not in scalars:
            schemas.insert(0, {"type": [*scalars, "string"], "pattern": VARIABLE})
        else:
            schemas.insert(0, {"type": scalars[0] if len(scalars) == 1 else scalars})
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _compound(annotation: Any) -> Schema:
    """Likewise, of what is neither a scalar nor a union."""
    kind, parts, _ = form_of(annotation)
    match kind:
        case "literal":
            return {"anyOf": [{"enum": list(parts)}, {"type": "string", "pattern": VARIABLE}]}
        case "pairs":
            pair, value = map(_schema_of, parts)
            return {"type": ["object", "array"], "additionalProperties": value, "items": pair}
        case "fixed":
            size = len(parts)
            return {"type": "array", "prefixItems": list(map(_schema_of, parts)), "minItems": size, "maxItems": size}
        case "list":
            return {"type": "array", "items": _schema_of(parts[0])}
        case "mapping":
            return {"type": "object", "additionalProperties": _schema_of(parts[1])}
        case "record":
            return _object(annotation)
    return {}


def _range(cls: type[Any], name: str, kind: type[int] | type[float]) -> Schema:
    """The bounds of a number, found by trying values around 0 and 1: a parameter is checked by code, which says no more
    than whether a value is refused."""
    try:
        cls()
    except Exception:
        return {}
    fits = {value: _fits(cls, name, value) for value in PROBES[kind]}
    if not any(fits.values()):
        return {}
    bounds: Schema = {}
    lowest, highest = (pick(value for value, fit in fits.items() if fit) for pick in (min, max))
    if lowest != min(fits):
        # Whether it is the bound itself that is refused, or what is next to it.
        open_below = kind is float and lowest > 0 and _fits(cls, name, 1e-9)
        bounds["exclusiveMinimum" if open_below else "minimum"] = 0 if open_below else lowest
    if kind is float and highest != max(fits):
        open_above = highest < 1 and _fits(cls, name, 1 - 1e-9)
        bounds["exclusiveMaximum" if open_above else "maximum"] = 1 if open_above else highest
    return bounds


def _fits(cls: type[Any], name: str, value: float) -> bool:
    try:
        cls(**{name: value})
    except (CorpusmillError, ValueError):
        return False
    return True


def _documented(cls: type[Any]) -> dict[str, str]:
    """field -> what the docstring says of it, in a list "name   what it is" with lines that continue it indented."""
    doc = inspect.cleandoc(cls.__doc__ or "")
    fields: Collection[str] = {field.name for field in dataclasses.fields(cls)}
    entries = re.findall(r"^(\w+)(?: {2,}|\n +)(.+(?:\n +.+)*)", doc, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries if name in fields}
