from dataclasses import dataclass
from typing import ClassVar, Literal

from corpusmill.steps.dedup._repeats import CutsRepeats


@dataclass(frozen=True, kw_only=True)
class Paragraph(CutsRepeats):
    """Cut out paragraphs that occur elsewhere in the corpus.

    As dedup/line in every respect, for the text between blank lines; "folded" ignores where its lines are broken, too.
    (What CCNet calls a paragraph is a line.)

    Source: after Wenzek et al. 2020 (CCNet), arXiv:1911.00359, section 3.1
    """

    kind: ClassVar[Literal["lines", "paragraphs"]] = "paragraphs"
    keys_per_document: ClassVar[int] = 4
