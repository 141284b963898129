from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pyarrow as pa

from corpusmill.keys import Keys, Signed
from corpusmill.steps import Columns
from corpusmill.steps.dedup._cuts import NONE, REPEATS, Repeats
from corpusmill.units import Stage


@dataclass(frozen=True, kw_only=True)
class Line:
    """Cut out lines that occur elsewhere in the corpus: menus, notices, footers.

    A line is what stands between line feeds, and is compared by a 128-bit hash: "folded", as CCNet does, without regard
    to case, punctuation, accents, white space and the values of numbers, or as "text", stripped and else as it is. What
    is shorter than `min_characters`, folded where it is compared so, never goes: short lines of equal words are often no
    copies. Of a line that occurs more than `max_count` times, within documents and across them, the first `max_count`
    stay (sources in recipe order, files by name, documents by position), or none with `keep_first: false`.

    The text is put together again without the lines that go. Where some went from between two lines that stay, one gap
    is left: the widest of those that were there, so that two paragraphs do not become one and no blank lines pile up.
    A document that has nothing left goes as `empty`, one that keeps a smaller share of its bytes than `min_left` as
    `min_left`. Signals: how many lines go (`repeats`), their bytes and share. `mark` cuts and drops nothing, and only
    measures. The 100 lines that occur most often are in the report.

    Differs from CCNet, which counts in shards of 5 GB and has no minimum length, and from C4, which compares spans of
    three sentences.

    Source: Wenzek et al. 2020 (CCNet), arXiv:1911.00359, section 3.1
    """

    keyed_by: ClassVar[tuple[str, ...]] = ("match", "min_characters")
    needs: ClassVar[tuple[str, ...]] = ()
    verdict: ClassVar[pa.Schema] = REPEATS
    otherwise: ClassVar[Mapping[str, Any]] = NONE
    cuts: ClassVar[bool] = True
    records: ClassVar[int] = 16

    match: Literal["text", "folded"] = "folded"
    min_characters: int = 30
    max_count: int = 1
    keep_first: bool = True
    min_left: float | None = None  # share of the bytes of all lines
    mark: bool = False

    def __post_init__(self) -> None:
        self.work()

    def work(self) -> Repeats:
        return Repeats(
            of="lines",
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
