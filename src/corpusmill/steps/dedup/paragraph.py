from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pyarrow as pa

from corpusmill.keys import Keys, Signed
from corpusmill.steps import Columns
from corpusmill.steps.dedup._cuts import NONE, REPEATS, Repeats
from corpusmill.units import Stage


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """Cut out paragraphs that occur elsewhere in the corpus.

    As dedup/line, with all that it says, for paragraphs: what stands between blank lines, be it one line or several.
    "folded" ignores where its lines are broken, too.

    (CCNet calls paragraph what is a line here, as text of the web had a line for each then; dedup/line is its method.)

    Source: after Wenzek et al. 2020 (CCNet), arXiv:1911.00359, section 3.1
    """

    keyed_by: ClassVar[tuple[str, ...]] = ("match", "min_characters")
    needs: ClassVar[tuple[str, ...]] = ()
    verdict: ClassVar[pa.Schema] = REPEATS
    otherwise: ClassVar[Mapping[str, Any]] = NONE
    cuts: ClassVar[bool] = True
    records: ClassVar[int] = 4

    match: Literal["text", "folded"] = "folded"
    min_characters: int = 30
    max_count: int = 1
    keep_first: bool = True
    min_left: float | None = None  # share of the bytes of all paragraphs
    mark: bool = False

    def __post_init__(self) -> None:
        self.work()

    def work(self) -> Repeats:
        return Repeats(
            of="paragraphs",
            match=self.match,
            min_characters=self.min_characters,
            max_count=self.max_count,
            keep_first=self.keep_first,
            min_left=self.min_left,
            mark=self.mark,
        )

    def keys(self, docs: pa.RecordBatch, signals: Columns) -> Keys:
        return self.work().keys(docs["text"])

    def stages(self, signed: Signed) -> list[Stage]:
        return self.work().stages(signed)
