"""What the input says of a document, as signals."""

from dataclasses import dataclass
from typing import Any, ClassVar

import orjson
import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns

Named = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Metadata:
    """Make signals of values in the metadata of documents, the columns that a reader keeps.

        annotate/metadata:
          numbers: {perplexity: quality_signals.ccnet_perplexity.0.2}
          texts: {licence: licence, language: language}
          flags: {generated: is_generated}

    A name is that of the signal; what it stands for is where the value is: names, with dots into objects, and numbers
    of places in lists. A value that is missing, or of another type, is None.

    Source: Weber et al. 2024 (RedPajama-v2), arXiv:2411.12372
    """

    numbers: Named = ()
    texts: Named = ()
    flags: Named = ()

    needs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for field in ("numbers", "texts", "flags"):
            value = getattr(self, field)
            object.__setattr__(self, field, tuple(value.items()) if isinstance(value, dict) else tuple(value))
        names = [name for name, _ in (*self.numbers, *self.texts, *self.flags)]
        if not names:
            raise RecipeError(
                "annotate/metadata: say which values are to be signals, as in {texts: {licence: licence}}, or numbers, "
                "or flags"
            )
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise RecipeError(f"annotate/metadata: two signals have the same name: {', '.join(twice)}")

    def signals(self, docs: pa.RecordBatch) -> Columns:
        rows = [orjson.loads(text) if text else {} for text in docs["metadata"].to_pylist()]
        columns: dict[str, pa.Array] = {}
        kinds = (
            (self.numbers, pa.float64(), as_number),
            (self.texts, pa.string(), as_text),
            (self.flags, pa.bool_(), as_flag),
        )
        for fields, kind, convert in kinds:
            for name, dotted in fields:
                path = dotted.split(".")
                columns[name] = pa.array([convert(value_at(row, path)) for row in rows], kind)
        return columns


def value_at(value: Any, path: list[str]) -> Any:
    """The value at a path of names and places in lists; None if there is none. A name may have dots in it."""
    for at, part in enumerate(path):
        if isinstance(value, dict):
            key = ".".join(path[at:])
            if key in value:
                return value[key]
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def as_number(value: Any) -> float | None:
    return float(value) if isinstance(value, bool | int | float) else None


def as_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def as_flag(value: Any) -> bool | None:
    return bool(value) if value in (True, False) else None
