from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pyarrow as pa

from corpusmill.steps import Columns
from corpusmill.steps.dedup._cuts import NONE, REPEATS, Repeats
from corpusmill.steps.keys import Keys, KeyStage
from corpusmill.store.work import Stage


@dataclass(frozen=True, kw_only=True)
class Line:
    """Cut out lines that occur elsewhere in the corpus: menus, notices, footers.

    A line is the text between line feeds, compared by a 128-bit hash: "folded", as CCNet does, without regard to case,
    punctuation, accents, white space and the values of numbers, or as "text", stripped. What is shorter than
    `min_characters`, folded where it is compared so, is never cut. Of a line the first `max_count` are kept, or none
    with `keep_first=False`.

    Between two kept lines the widest gap remains. A document of which nothing is left is dropped as `empty`, one that
    keeps a smaller share of its bytes than `min_left` as `min_left`. Signals: how many lines are cut (`repeats`), their
    bytes and share. With `mark` nothing is cut. The report has the 100 most frequent lines.

    Source: Wenzek et al. 2020 (CCNet), arXiv:1911.00359, section 3.1
    """

    key_parameters: ClassVar[tuple[str, ...]] = ("match", "min_characters")
    needs: ClassVar[tuple[str, ...]] = ()
    verdict: ClassVar[pa.Schema] = REPEATS
    default_signals: ClassVar[Mapping[str, Any]] = NONE
    reads_text: ClassVar[bool] = True
    cuts: ClassVar[bool] = True
    keys_per_document: ClassVar[int] = 16

    match: Literal["text", "folded"] = "folded"  # without case, punctuation, accents …, or as it is
    min_characters: int = 30  # shorter lines are never removed
    max_count: int = 1  # how many copies of a line are kept in the whole corpus
    keep_first: bool = True  # keep these copies; false removes all copies
    min_left: float | None = None  # share of the bytes of all lines
    mark: bool = False

    def __post_init__(self) -> None:
        self.repeats()

    def repeats(self) -> Repeats:
        return Repeats.of_step("lines", self)

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        return self.repeats().keys(docs["text"])

    def stages(self, keys: KeyStage) -> list[Stage]:
        return self.repeats().stages(keys)
