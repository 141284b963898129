from dataclasses import dataclass
from typing import ClassVar, Literal

from corpusmill.steps.dedup._repeats import CutsRepeats


@dataclass(frozen=True, kw_only=True)
class Line(CutsRepeats):
    """Cut out lines that occur elsewhere in the corpus: menus, notices, footers.

    A line is the text between line feeds, and is compared by a 128-bit hash: "folded", as CCNet does, without regard
    to case, punctuation, accents, white space and the values of numbers, or as "text", stripped and else as it is. What
    is shorter than `min_characters`, folded where it is compared so, is never cut: short lines of equal words are often
    not copies. Of a line that occurs more than `max_count` times, within documents and across them, the first
    `max_count` are kept (sources in recipe order, files by name, documents by position), or none with `keep_first:
    false`.

    The text is put together again without the lines that are cut. Between two kept lines one gap is left: the widest of
    those that were there, so that two paragraphs do not become one and no blank lines pile up. A document of which
    nothing is left is dropped as `empty`, one that keeps a smaller share of its bytes than `min_left` as `min_left`.
    Signals: how many lines are cut (`repeats`), their bytes and share. With `mark` nothing is cut or dropped, only
    measured. The 100 lines that occur most often are in the report.

    Differs from CCNet, which counts in shards of 5 GB and has no minimum length, and from C4, which compares spans of
    three sentences.

    Source: Wenzek et al. 2020 (CCNet), arXiv:1911.00359, section 3.1
    """

    kind: ClassVar[Literal["lines", "paragraphs"]] = "lines"
    keys_per_document: ClassVar[int] = 16
