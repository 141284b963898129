"""What every redacting step does: replace personal data in texts, or drop the documents that have it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill import assets
from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.steps import Columns
from corpusmill.steps.personal_data import PersonalData, check_kinds, count_of
from corpusmill.steps.redact._pseudonyms import SHAPES, pseudonym
from corpusmill.steps.verdict import Rule, join_reasons
from corpusmill.text.replace import replace_spans
from corpusmill.text.rewrite import with_text

Action = Literal["placeholder", "pseudonym", "tag", "drop", "leave"]
ByKind = tuple[tuple[str, str], ...]
REPLACING = ("placeholder", "pseudonym", "tag")


@dataclass(frozen=True, kw_only=True)
class Redaction:
    """The parameters of every step that redacts; their meaning is in the docstrings of the steps."""

    kinds: tuple[str, ...]
    action: Action = "placeholder"
    actions: ByKind = ()  # by kind, instead of `action`
    max_spans: int | None = None  # of all kinds together
    placeholders: ByKind = ()  # by kind
    key: str | None = None  # of pseudonyms: env:NAME, or the path of a file
    spans: bool = False

    needs: ClassVar[tuple[str, ...]] = ()
    RULES: ClassVar[tuple[Rule, ...]] = (Rule("max_spans", "found", ">"),)


def redact(step: Redaction, docs: pa.RecordBatch, data: PersonalData) -> pa.RecordBatch:
    """The documents with their personal data treated as the step's actions say, and its signals."""
    actions = actions_by_kind(step.kinds, step.action, step.actions)
    placeholders = {kind: dict(step.placeholders).get(kind, f"<{kind.upper()}>") for kind in step.kinds}
    redacted = with_text(docs, replaced(data, actions, placeholders, step.key))
    for name, column in data.columns(step.spans).items():
        redacted = redacted.append_column(name, column)
    return redacted


def replaced(
    data: PersonalData, actions: Mapping[str, str], placeholders: Mapping[str, str], key: str | None
) -> pa.LargeStringArray:
    """The texts with every span replaced whose kind's action is one of REPLACING.

    actions        an Action for each kind
    placeholders   for each kind
    key            of the pseudonyms: `env:NAME` or the path of a file
    """
    replacing = np.array([actions[name] in REPLACING for name in data.kinds])
    spans = data.spans[replacing[data.spans[:, 1]]]
    if not len(spans):
        return data.texts
    new = pa.array([placeholders[name] for name in data.kinds], pa.large_string()).take(pa.array(spans[:, 1]))
    by_value = [number for number, name in enumerate(data.kinds) if actions[name] in ("pseudonym", "tag")]
    if (mask := np.isin(spans[:, 1], by_value)).any():
        secret = assets.key(key) if key is not None else b""
        texts = [
            pseudonym(name, value, secret)
            if actions[name] == "pseudonym"
            else f"<{name.upper()}>{value}</{name.upper()}>"
            for name, value in data.values(spans[mask])
        ]
        new = pc.replace_with_mask(new, pa.array(mask), pa.array(texts, pa.large_string()))
    return replace_spans(data.texts, spans, new)


def without_own(texts: pa.LargeStringArray, steps: Iterable[object]) -> pa.LargeStringArray:
    """Texts in which what these steps put in place of personal data is `<EMAIL>`, `<IP>` …, which is none.

    A placeholder may be an address, as that of FineWeb is, and a pseudonym looks like what it replaces.
    """
    for step in (step for step in steps if isinstance(step, Redaction)):
        actions = actions_by_kind(step.kinds, step.action, step.actions)
        own = {kind: value for kind, value in step.placeholders if value and actions[kind] == "placeholder"}
        shapes = {kind: SHAPES[kind] for kind in step.kinds if actions[kind] == "pseudonym" and kind in SHAPES}
        for kind, placeholder in own.items():
            texts = pc.replace_substring(texts, placeholder, f"<{kind.upper()}>")
        for kind, shape in shapes.items():
            texts = pc.replace_substring_regex(texts, shape, f"<{kind.upper()}>")
    return texts


def actions_by_kind(kinds: tuple[str, ...], action: str, actions: ByKind) -> dict[str, str]:
    """kind -> its action: one of its own, else the action for all."""
    return {kind: dict(actions).get(kind, action) for kind in kinds}


def drop_reasons(step: Redaction, kinds: Sequence[str], signals: Columns) -> pa.Array:
    """(documents,) the kinds whose action is "drop" and that a document has, in the order of `kinds`, then max_spans if
    it has more spans than that; null keeps."""
    zero = pa.scalar(0, pa.int32())
    actions = actions_by_kind(step.kinds, step.action, step.actions)
    dropping = [kind for kind in kinds if actions.get(kind) == "drop" and count_of(kind) in signals]
    hits = {kind: pc.greater(signals[count_of(kind)], zero) for kind in dropping}
    if step.max_spans is not None:
        hits["max_spans"] = pc.greater(signals["found"], pa.scalar(step.max_spans, pa.int64()))
    return join_reasons(**hits) if hits else pa.nulls(len(signals["found"]), pa.string())


def check(name: str, choices: tuple[str, ...], step: Redaction) -> None:
    """Raises RecipeError if the parameters of a step that redacts these kinds do not fit together."""
    kinds = step.kinds
    check_kinds(name, choices, kinds)
    for parameter, by_kind in (("actions", step.actions), ("placeholders", step.placeholders)):
        for kind, value in by_kind:
            if kind not in kinds:
                hint = did_you_mean(kind, kinds) or "."
                raise RecipeError(
                    f'{name}: {parameter} has "{kind}", which is not in kinds{hint} These are: {", ".join(kinds)}'
                )
            if parameter == "actions" and value not in get_args(Action):
                hint = did_you_mean(value, get_args(Action)) or "."
                raise RecipeError(
                    f'{name}: there is no action "{value}"{hint} There are: {", ".join(get_args(Action))}'
                )
    pseudonyms = "pseudonym" in actions_by_kind(kinds, step.action, step.actions).values()
    if pseudonyms and step.key is None:
        raise RecipeError(
            f"{name}: pseudonyms need a key: key: env:NAME, or the path of a file. See `corpusmill steps {name}`"
        )
    if step.key is not None and not pseudonyms:
        raise RecipeError(f"{name}: there is a key, but no action is pseudonym")
    if step.max_spans is not None and step.max_spans < 0:
        raise RecipeError(f"{name}: max_spans must be at least 0, got {step.max_spans}")
