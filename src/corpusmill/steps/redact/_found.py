"""What the steps that find personal data do with it: count it, say where it is, put something else in its place."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpusmill import assets
from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.steps import Columns
from corpusmill.steps.redact._pseudonyms import pseudonym
from corpusmill.steps.verdict import join_reasons
from corpusmill.text.buffers import view
from corpusmill.text.replace import replace_spans

Action = Literal["placeholder", "pseudonym", "tag", "drop", "leave"]
ByKind = tuple[tuple[str, str], ...]
SPANS = pa.list_(pa.struct([("kind", pa.string()), ("start", pa.int64()), ("end", pa.int64())]))


@dataclass(frozen=True)
class Found:
    """Personal data in the texts of a batch.

    texts   (documents,) large_string
    spans   (spans, 4) int64: document, kind (an index of `kinds`), first byte, end; in order, without overlap
    kinds   as a recipe names them
    """

    texts: pa.LargeStringArray
    spans: NDArray[np.int64]
    kinds: tuple[str, ...]

    def columns(self, with_spans: bool) -> dict[str, pa.Array]:
        """How many of each kind, as `<kind>s`; of all, as `found`; and where they stand, if asked for, as `spans`."""
        document, kind = self.spans[:, 0], self.spans[:, 1]
        counts = [np.bincount(document[kind == k], minlength=len(self.texts)) for k in range(len(self.kinds))]
        columns = {f"{name}s": pa.array(count, pa.int32()) for name, count in zip(self.kinds, counts)}
        total = np.bincount(document, minlength=len(self.texts))
        columns["found"] = pa.array(total, pa.int32())
        if with_spans:
            each = pa.StructArray.from_arrays(
                [pa.array(self.kinds, pa.string()).take(pa.array(kind)), *(pa.array(self.spans[:, c]) for c in (2, 3))],
                fields=list(SPANS.value_type),
            )
            offsets = pa.array(np.concatenate([[0], np.cumsum(total)]), pa.int32())
            columns["spans"] = pa.ListArray.from_arrays(offsets, each, type=SPANS)
        return columns

    def replaced(self, actions: Mapping[str, str], placeholders: Mapping[str, str], key: str | None) -> pa.Array:
        """The texts with something else in the place of every span whose kind's action asks for that.

        actions        an Action for each kind
        placeholders   for each kind
        key            of the pseudonyms: `env:NAME` or the path of a file
        """
        written = np.array([actions[name] in WRITTEN for name in self.kinds])
        spans = self.spans[written[self.spans[:, 1]]]
        if not len(spans):
            return self.texts
        new = pa.array([placeholders[name] for name in self.kinds], pa.large_string()).take(pa.array(spans[:, 1]))
        single = [number for number, name in enumerate(self.kinds) if actions[name] in ("pseudonym", "tag")]
        if (mask := np.isin(spans[:, 1], single)).any():
            secret = assets.key(key) if key is not None else b""
            texts = [
                pseudonym(name, value, secret)
                if actions[name] == "pseudonym"
                else f"<{name.upper()}>{value}</{name.upper()}>"
                for name, value in self._values(spans[mask])
            ]
            new = pc.replace_with_mask(new, pa.array(mask), pa.array(texts, pa.large_string()))
        return replace_spans(self.texts, spans, new)

    def _values(self, spans: NDArray[np.int64]) -> Iterator[tuple[str, str]]:
        """Kind and text of each span."""
        data, offsets = view(self.texts)
        for document, kind, start, end in spans.tolist():
            base = int(offsets[document])
            yield self.kinds[kind], data[base + start : base + end].tobytes().decode()


WRITTEN = ("placeholder", "pseudonym", "tag")


def action_of(kinds: tuple[str, ...], action: str, actions: ByKind) -> dict[str, str]:
    """What is done to each kind."""
    return {kind: dict(actions).get(kind, action) for kind in kinds}


def placeholder_of(kinds: tuple[str, ...], placeholders: ByKind) -> dict[str, str]:
    """What stands for each kind: its own placeholder, else its name, as "<EMAIL>"."""
    return {kind: dict(placeholders).get(kind, f"<{kind.upper()}>") for kind in kinds}


class Redacts(Protocol):
    """The parameters that all steps which redact have; their docstrings say what they mean."""

    @property
    def kinds(self) -> tuple[Any, ...]: ...

    @property
    def action(self) -> Action: ...

    @property
    def actions(self) -> ByKind: ...

    @property
    def max_spans(self) -> int | None: ...

    @property
    def placeholders(self) -> ByKind: ...

    @property
    def key(self) -> str | None: ...

    @property
    def spans(self) -> bool: ...


def redact(step: Redacts, docs: pa.RecordBatch, found: Found) -> pa.RecordBatch:
    """The documents with what was found in them treated as the step says, and its columns."""
    actions = action_of(step.kinds, step.action, step.actions)
    text = found.replaced(actions, placeholder_of(step.kinds, step.placeholders), step.key)
    redacted = docs.set_column(docs.schema.get_field_index("text"), docs.schema.field("text"), text)
    for name, column in found.columns(step.spans).items():
        redacted = redacted.append_column(name, column)
    return redacted


def drop_reasons(step: Redacts, known: Sequence[str], signals: Columns) -> pa.Array:
    """(documents,) the kinds that drop a document and that it has, in the order of `known`, then max_spans if it has more
    of all; null keeps."""
    zero = pa.scalar(0, pa.int32())
    actions = action_of(step.kinds, step.action, step.actions)
    dropping = [kind for kind in known if actions.get(kind) == "drop" and f"{kind}s" in signals]
    hits = {kind: pc.greater(signals[f"{kind}s"], zero) for kind in dropping}
    if step.max_spans is not None:
        hits["max_spans"] = pc.greater(signals["found"], pa.scalar(step.max_spans, pa.int64()))
    return join_reasons(**hits) if hits else pa.nulls(len(signals["found"]), pa.string())


def check_redacts(name: str, known: tuple[str, ...], step: Redacts) -> None:
    """Raises RecipeError if the parameters of a step that redacts these kinds do not fit together."""
    check(name, known, step.kinds, step.action, step.actions, step.placeholders, step.key, step.max_spans)


def check(
    step: str,
    known: tuple[str, ...],
    kinds: tuple[str, ...],
    action: str = "leave",
    actions: ByKind = (),
    placeholders: ByKind = (),
    key: str | None = None,
    max_spans: int | None = None,
) -> None:
    """Raises RecipeError if these are no parameters of a step that finds these kinds."""
    takes = f"It takes any of {', '.join(known)}"
    if not kinds:
        raise RecipeError(f"{step}: kinds is empty. {takes}")
    for kind in kinds:
        if kind not in known:
            raise RecipeError(f'{step}: no kind "{kind}"{did_you_mean(kind, known) or "."} {takes}')
    for name, by_kind in (("actions", actions), ("placeholders", placeholders)):
        for kind, value in by_kind:
            if kind not in kinds:
                near = did_you_mean(kind, kinds) or "."
                raise RecipeError(
                    f'{step}: {name} has "{kind}", which is none of kinds{near} These are: {", ".join(kinds)}'
                )
            if name == "actions" and value not in get_args(Action):
                near = did_you_mean(value, get_args(Action)) or "."
                raise RecipeError(f'{step}: no action "{value}"{near} There are: {", ".join(get_args(Action))}')
    pseudonyms = "pseudonym" in action_of(kinds, action, actions).values()
    if pseudonyms and key is None:
        raise RecipeError(
            f"{step}: pseudonyms need a key: key: env:NAME, or the path of a file. See `corpusmill steps {step}`"
        )
    if key is not None and not pseudonyms:
        raise RecipeError(f"{step}: there is a key, but no action is pseudonym")
    if max_spans is not None and max_spans < 0:
        raise RecipeError(f"{step}: max_spans must be at least 0, got {max_spans}")
