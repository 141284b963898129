from dataclasses import dataclass
from typing import ClassVar, Literal

from corpusmill.steps.dedup._repeats import CutsRepeats


@dataclass(frozen=True, kw_only=True)
class Line(CutsRepeats):
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

    kind: ClassVar[Literal["lines", "paragraphs"]] = "lines"
    keys_per_document: ClassVar[int] = 16
