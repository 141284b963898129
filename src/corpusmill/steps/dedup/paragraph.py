from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pyarrow as pa

from corpusmill.steps import Columns
from corpusmill.steps.dedup._cuts import NONE, REPEATS, Repeats
from corpusmill.steps.keys import Keys, KeyStage
from corpusmill.store.work import Stage


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """Cut out paragraphs that occur elsewhere in the corpus.

    As dedup/line in every respect, for the text between blank lines; "folded" ignores where its lines are broken, too.
    (What CCNet calls a paragraph is a line.)

    Source: after Wenzek et al. 2020 (CCNet), arXiv:1911.00359, section 3.1
    """

    key_parameters: ClassVar[tuple[str, ...]] = ("match", "min_characters")
    needs: ClassVar[tuple[str, ...]] = ()
    verdict: ClassVar[pa.Schema] = REPEATS
    default_signals: ClassVar[Mapping[str, Any]] = NONE
    reads_text: ClassVar[bool] = True
    cuts: ClassVar[bool] = True
    keys_per_document: ClassVar[int] = 4

    match: Literal["text", "folded"] = "folded"  # without case, punctuation, accents …, or as it is
    min_characters: int = 30  # shorter paragraphs are never removed
    max_count: int = 1  # how many copies of a paragraph are kept in the whole corpus
    keep_first: bool = True  # keep these copies; false removes all copies
    min_left: float | None = None  # share of the bytes of all paragraphs
    mark: bool = False

    def __post_init__(self) -> None:
        self.repeats()

    def repeats(self) -> Repeats:
        return Repeats.of_step("paragraphs", self)

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        return self.repeats().keys(docs["text"])

    def stages(self, keys: KeyStage) -> list[Stage]:
        return self.repeats().stages(keys)
