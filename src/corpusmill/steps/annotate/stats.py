"""How long is a document, and what is it made of?"""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.steps import Columns
from corpusmill.steps.measures import basic, stats, text
from corpusmill.text.stats import document_stats

OF_STATS = ("alpha_word_ratio", "stop_words", "bullet_line_ratio", "ellipsis_line_ratio", "line_punctuation_ratio")


@dataclass(frozen=True, kw_only=True)
class Stats:
    """Measure each document's length, and shares of its words, characters and lines, and judge nothing.

    Put it after cleaning. Signals: `characters` (code points), `words`, `lines`, `paragraphs`, `mean_word_length`;
    those of filter/basic (`uppercase_word_ratio`, `uppercase_char_ratio`, `special_char_ratio`, `digit_ratio`,
    `punctuation_ratio`, `distinct_word_ratio`, `repeat_ratio`, `repeated_3_gram_ratio`, `top_2_gram_ratio`,
    `top_3_gram_ratio`); and Gopher's and FineWeb's `alpha_word_ratio`, `stop_words`, `bullet_line_ratio`,
    `ellipsis_line_ratio`, `line_punctuation_ratio`. `corpusmill.steps.measures` defines each.

    Source: Weber et al. 2024 (RedPajama-v2), arXiv:2411.12372
    """

    needs: ClassVar[tuple[str, ...]] = ()

    def signals(self, docs: pa.RecordBatch) -> Columns:
        counted = document_stats(pc.fill_null(docs["text"], ""))
        of_stats = stats(counted)
        return {**text(counted), **basic(counted), **{name: of_stats[name] for name in OF_STATS}}
