from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.keys import Keys, Signed
from corpusmill.steps.dedup._stages import exact_stages
from corpusmill.text.fold import fold
from corpusmill.text.hashing import hash128
from corpusmill.units import Stage


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Drop every document whose text equals that of an earlier one.

    Texts are compared by a 128-bit hash; over 5e11 documents the odds of even one false match are about 4e-16.
    `match="text"` compares the text as it is; "folded" ignores case, punctuation, accents, white space and the
    values of numbers, so pages that differ only in a counter or a date are one.

    The earliest copy stays: sources in recipe order, files by name, documents by position. Each removal keeps the id
    of the copy that stays.
    """

    keyed_by: ClassVar[tuple[str, ...]] = ("match",)

    match: Literal["text", "folded"] = "text"

    def __post_init__(self) -> None:
        if self.match not in ("text", "folded"):
            raise RecipeError(f'match is "text" or "folded", got "{self.match}"')

    def keys(self, docs: pa.RecordBatch) -> Keys:
        text = docs["text"] if self.match == "text" else fold(docs["text"])
        hashes = hash128(text)
        return Keys(bands=np.ascontiguousarray(hashes[:, :1]), arrays={"low": np.ascontiguousarray(hashes[:, 1])})

    def stages(self, signed: Signed) -> list[Stage]:
        return exact_stages(signed)
