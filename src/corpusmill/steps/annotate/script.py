from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.steps import Columns
from corpusmill.text.scripts import SCRIPTS, script_counts


@dataclass(frozen=True, kw_only=True)
class Script:
    """Say in which scripts each document is written, without a model.

    Signals: `main`, the script with the most letters (null for a text without one; of equals the first in the order of
    `corpusmill.text.scripts.SCRIPTS`), and its `share` of all letters; and by each name in `scripts` its share, 0 where
    there is no letter. Letters are told by Unicode block, so a mixture of languages in one script is not seen: that is
    for annotate/language. Of use before it: `keep_where: {condition: "script.share > 0.8"}` drops text in which
    scripts are mixed, as broken encodings give.

    Source: blocks of Unicode 15
    """

    scripts: tuple[str, ...] = ("latin", "cyrillic", "arabic", "han", "hangul", "hiragana", "katakana", "devanagari")

    needs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in self.scripts:
            if name not in SCRIPTS:
                near = did_you_mean(name, SCRIPTS) or "."
                raise RecipeError(f'scripts has "{name}", which is not known{near} Known are {", ".join(SCRIPTS)}.')

    def signals(self, docs: pa.RecordBatch) -> Columns:
        counts = script_counts(docs["text"])
        letters = counts.sum(axis=1)
        shares = counts / np.maximum(letters, 1)[:, None]
        best = shares.argmax(axis=1) if len(counts) else np.empty(0, np.int64)
        columns = {
            "main": pa.array(SCRIPTS, pa.string()).take(pa.array(best, mask=letters == 0)),
            "share": pa.array(shares[np.arange(len(best)), best]),
        }
        return columns | {name: pa.array(np.ascontiguousarray(shares[:, SCRIPTS.index(name)])) for name in self.scripts}
