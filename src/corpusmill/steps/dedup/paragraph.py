from dataclasses import dataclass
from typing import ClassVar, Literal

from corpusmill.steps.dedup._repeats import CutsRepeats


@dataclass(frozen=True, kw_only=True)
class Paragraph(CutsRepeats):
    """Cut out paragraphs that occur elsewhere in the corpus.

    The same as dedup/line in every respect, for paragraphs: the text between blank lines, be it one line or several.
    "folded" ignores where its lines are broken, too.

    (CCNet calls a line a paragraph, because its web text had one line per paragraph; dedup/line is its method.)

    Source: after Wenzek et al. 2020 (CCNet), arXiv:1911.00359, section 3.1
    """

    kind: ClassVar[Literal["lines", "paragraphs"]] = "paragraphs"
    keys_per_document: ClassVar[int] = 4
