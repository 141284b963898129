"""A reader and steps of one's own, as recipes name them: `recipe_parts:Lines`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa

from corpusmill.errors import RecipeError


@dataclass(frozen=True, kw_only=True)
class Lines:
    column: str = "text"


@dataclass(frozen=True, kw_only=True)
class KeepShort:
    """A filter with a parameter that must be given and one that has bounds."""

    max_words: int
    share: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise RecipeError(f"recipe_parts:KeepShort: need 0 <= share <= 1, got {self.share}")

    @property
    def needs(self) -> tuple[str, ...]:
        return ()

    def reasons(self, docs: pa.RecordBatch, signals: Mapping[str, pa.Array]) -> pa.Array:
        return pa.nulls(len(docs), pa.string())


@dataclass(frozen=True, kw_only=True)
class Letters:
    """Tokens are bytes."""

    def encode(self, text: pa.Array) -> Any:
        return [list(t.encode()) for t in text.to_pylist()]


@dataclass(frozen=True, kw_only=True)
class Rows:
    method: ClassVar[str] = "concat"
    length: int = 8
    remainder: Literal["pad", "drop"] = "pad"


@dataclass(frozen=True, kw_only=True)
class Window:
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise RecipeError(f"need low <= high, got low={self.low}, high={self.high}")


@dataclass(frozen=True, kw_only=True)
class Everything:
    """A step with a parameter of every kind."""

    whole: int = 1
    number: float = 0.5
    flag: bool = False
    word: str = "x"
    words: tuple[str, ...] = ()
    numbers: tuple[float, ...] = (1, 2)
    maybe: float | None = 1.0
    count_or_share: int | float = 10
    names: tuple[str, ...] | str = ()
    mode: Literal["fast", "careful", 3] = "fast"
    table: Mapping[str, float] = field(default_factory=dict)
    pairs: tuple[tuple[str, int], ...] = ()
    grid: tuple[tuple[int, ...], ...] = ()
    window: Window = Window()
    span: tuple[int, str] = (1, "a")
    kinds: frozenset[str] = frozenset()
    place: Path = Path("here")

    def transform(self, docs: pa.RecordBatch) -> pa.RecordBatch:
        return docs


@dataclass(frozen=True)
class NoStep:
    pass


class NoDataclass:
    pass
