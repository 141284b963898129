"""Which scripts is a document written in?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.steps import Columns
from corpusmill.text.scripts import SCRIPTS, script_counts


@dataclass(frozen=True, kw_only=True)
class Script:
    """Identify the scripts (Latin, Cyrillic, Han …) of each document, without a model.

    Signals: `main`, the script with the most letters, None for a text without letters; `share`, its share of all
    letters; and the share of each of `scripts`. The script of a letter is that of its Unicode block.
    `filter/keep_where: {condition: "script.share > 0.8"}` drops text that mixes scripts, as broken encodings do.

    Source: blocks of Unicode 15
    """

    scripts: tuple[str, ...] = ("latin", "cyrillic", "arabic", "han", "hangul", "hiragana", "katakana", "devanagari")

    needs: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in self.scripts:
            if name not in SCRIPTS:
                hint = did_you_mean(name, SCRIPTS) or "."
                raise RecipeError(
                    f'scripts has "{name}", which is not a known script{hint} Known: {", ".join(SCRIPTS)}.'
                )

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
