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
from typing import Any, Literal, Union, get_args, get_origin

from corpusmill import execute, read, steps, write
from corpusmill.errors import CorpusmillError
from corpusmill.recipe.canaries import Canary
from corpusmill.recipe.parts import RunSettings, Source
from corpusmill.recipe.training_stage import TrainingStage
from corpusmill.recipe.values import MANY, MAPPINGS, is_required, pair_value, parameters, plain
from corpusmill.steps.describe import notes, summary

Schema = dict[str, Any]

VARIABLE = r"\$\{"  # text that holds an environment variable may become any scalar
OWN = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"
WORD = {"type": "string", "minLength": 1}
SOME = {"type": ["string", "array"], "items": WORD, "minItems": 1, "minLength": 1}  # one, or a list of them
OF_ALL_SOURCES = ("mix/", "tokenize/", "pack/")  # these take neither `only` nor `except`
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "string", types.NoneType: "null"}
PROBES = {int: (-1, 0, 1, 2), float: (-0.5, 0.0, 0.5, 1.0, 1.5)}


def recipe_schema() -> Schema:
    """The schema of a whole recipe, draft 2020-12."""
    run = _object(RunSettings)
    run["properties"]["executor"] |= {"enum": list(execute.EXECUTORS)}
    del run["markdownDescription"]  # its parameters have what more it says
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
            "steps": _section("What is done to each document, in this order.", "step"),
            "write": _section("Output formats. The folder of the run has the kept documents in any case.", "writer"),
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
        "required": ["read"],
        "additionalProperties": False,
        "$defs": {
            "reader": _thing({name: _reader(read.find(name)) for name in read.names()}, reader=True),
            "step": _thing({name: _step(name) for name in steps.names()}),
            "canary": _object(Canary),
            "stage": _stage(),
            "writer": _thing({name: _object(write.find(name)) for name in write.names()}),
        },
    }


def _section(description: str, kind: str) -> Schema:
    """A list of things, or one of them by itself."""
    listed: Schema = {"type": "array", "items": {"$ref": f"#/$defs/{kind}"}}
    if kind == "reader":
        listed["minItems"] = 1
    return {"description": description, "anyOf": [listed, {"$ref": f"#/$defs/{kind}"}]}


def _thing(known: Mapping[str, Schema], reader: bool = False) -> Schema:
    """A name, or a mapping of one name to its parameters. A reader always has parameters: its paths.

    yaml-language-server completes the names of a mapping in a list only from `defaultSnippets`, and the others from
    `enum`.
    """
    mapping: Schema = {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {name: {"title": name} | schema for name, schema in known.items()},
        "patternProperties": {OWN: {"description": "A class of your own, as module:Class, with its parameters."}},
        "additionalProperties": False,
        "defaultSnippets": [
            {"label": name, "description": schema["description"], "body": {name: _to_fill_in(schema["required"])}}
            for name, schema in known.items()
            if schema.get("required")
        ],
    }
    if reader:
        return mapping
    alone = {name: schema["description"] for name, schema in known.items() if not schema.get("required")}
    names: Schema = {
        "type": "string",
        "enum": list(alone),
        "enumDescriptions": list(alone.values()),
    }
    own: Schema = {"type": "string", "pattern": OWN, "description": "A class of your own, as module:Class."}
    return {"anyOf": [names, own, mapping]}


def _to_fill_in(required: Sequence[str]) -> dict[str, str]:
    """What editors write for parameters that must be given; the cursor is placed at each in turn."""
    return {name: f"${number}" for number, name in enumerate(required, 1)}


def _step(name: str) -> Schema:
    cls = steps.find(name)
    schema = _object(cls)
    if not name.startswith(OF_ALL_SOURCES):
        schema["properties"] |= {
            "only": {"description": "Names of the sources that this step is for; all if not given."} | SOME,
            "except": {"description": "Names of the sources that this step is not for."} | SOME,
        }
        schema["not"] = {"type": "object", "required": ["only", "except"]}
    if main := getattr(cls, "main_parameter", None):  # it may be given without its name
        kinds = schema["properties"][main]["type"]
        schema["type"] = [*schema["type"], *([kinds] if isinstance(kinds, str) else kinds)]
    return schema


def _stage() -> Schema:
    schema = _object(TrainingStage)
    step = {"$ref": "#/$defs/step"}
    for name, of in (("tokenize", step), ("pack", step), ("shards", _object(write.find("shards")))):
        schema["properties"][name] = {"description": schema["properties"][name]["description"]} | of
    return schema


def _reader(cls: type[Any]) -> Schema:
    """A reader with the settings of a source; its paths alone in the short form."""
    beside = _sections_of(Source)
    own: Schema = {key: {"type": "string", "description": beside[key]} for key in ("source", "subset", "split", "root")}
    own["exclude"] = SOME | {"description": beside["exclude"]}
    schema = _object(cls)
    schema |= SOME | {"type": ["string", "array", "object"], "required": ["paths", *schema.get("required", ())]}
    schema["properties"] = {"paths": SOME | {"description": beside["paths"]}, **own, **schema["properties"]}
    return schema


def _object(cls: type[Any]) -> Schema:
    """A dataclass as a mapping of its parameters. Nothing at all is one without parameters."""
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    wanted = parameters(cls)
    beside = _sections_of(cls) | notes(cls)
    properties = {name: _parameter(cls, fields[name], wanted[name], beside.get(name, "")) for name in fields}
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


def _parameter(cls: type[Any], field: "dataclasses.Field[Any]", want: Any, note: str) -> Schema:
    schema = _of(want)
    if note:
        schema["description"] = note[0].upper() + note[1:]
    if field.name == "rules" and (switches := getattr(cls, "SWITCHES", ())):
        schema["items"] = {"enum": list(switches)}
    if not is_required(field):
        value = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        schema["default"] = plain(value, want)
    for kind in (int, float):
        if want in (kind, kind | None):
            schema |= _range(cls, field.name, kind)
    return schema


def _of(want: Any) -> Schema:
    """The schema of an annotation: what `corpusmill.recipe.values.convert` takes for it."""
    options = get_args(want) if get_origin(want) in (Union, types.UnionType) else (want,)
    scalars = [TYPES[option] for option in options if option in TYPES]
    schemas = [_one(option) for option in options if option not in TYPES]
    if scalars:
        if "string" not in scalars:
            schemas.insert(0, {"type": [*scalars, "string"], "pattern": VARIABLE})
        else:
            schemas.insert(0, {"type": scalars[0] if len(scalars) == 1 else scalars})
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _one(want: Any) -> Schema:
    """As `_of`, of what is neither a scalar nor a union."""
    origin, args = get_origin(want), get_args(want)
    if origin is Literal:
        return {"anyOf": [{"enum": list(args)}, {"type": "string", "pattern": VARIABLE}]}
    if (element := pair_value(want)) is not None:
        pair = _fixed((str, element))
        return {"type": ["object", "array"], "additionalProperties": _of(element), "items": pair}
    if origin is tuple and args[1:] != (Ellipsis,):
        return _fixed(args)
    if origin is tuple or origin in MANY:
        return {"type": "array", "items": _of(args[0])}
    if origin in MAPPINGS:
        return {"type": "object", "additionalProperties": _of(args[1])}
    if isinstance(want, type) and dataclasses.is_dataclass(want):
        return _object(want)
    return {}


def _fixed(args: Sequence[Any]) -> Schema:
    return {"type": "array", "prefixItems": [_of(arg) for arg in args], "minItems": len(args), "maxItems": len(args)}


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
    found: Schema = {}
    least, most = (pick(value for value, fit in fits.items() if fit) for pick in (min, max))
    if least != min(fits):
        # Whether it is the bound itself that is refused, or what is next to it.
        open_below = kind is float and least > 0 and _fits(cls, name, 1e-9)
        found["exclusiveMinimum" if open_below else "minimum"] = 0 if open_below else least
    if kind is float and most != max(fits):
        open_above = most < 1 and _fits(cls, name, 1 - 1e-9)
        found["exclusiveMaximum" if open_above else "maximum"] = 1 if open_above else most
    return found


def _fits(cls: type[Any], name: str, value: float) -> bool:
    try:
        cls(**{name: value})
    except (CorpusmillError, ValueError):
        return False
    return True


def _sections_of(cls: type[Any]) -> dict[str, str]:
    """field -> what the docstring says of it, in a list "name   what it is" with lines that continue it indented."""
    doc = inspect.cleandoc(cls.__doc__ or "")
    fields: Collection[str] = {field.name for field in dataclasses.fields(cls)}
    entries = re.findall(r"^(\w+)(?: {2,}|\n +)(.+(?:\n +.+)*)", doc, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries if name in fields}
