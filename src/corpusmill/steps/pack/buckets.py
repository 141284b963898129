from dataclasses import dataclass
from typing import ClassVar

from corpusmill.errors import RecipeError
from corpusmill.steps.pack._rows import check_rows
from corpusmill.tokens.breaks import SplitAt
from corpusmill.tokens.packing import Method, Remainder


@dataclass(frozen=True, kw_only=True)
class PackBuckets:
    """Cut documents into sequences of powers of two, and give each row sequences of one length: no two documents share
    a sequence.

    Dataset decomposition (Pouransari et al. 2024, arXiv:2405.13226, section 3). A document of 2,500 tokens in rows of
    2,048 is sequences of 2,048, 256, 128, 64 and 4 tokens; what is left below `shortest` is padded to it. A row holds
    eight sequences of 256, so attention never crosses documents. Nothing is discarded; the run reports the padding.
    """

    method: ClassVar[Method] = "buckets"
    remainder: ClassVar[Remainder] = "pad"
    split_at: ClassVar[SplitAt | None] = None

    length: int = 2048  # tokens per row, and of the longest sequence: a power of two
    shortest: int = 16  # tokens of the shortest sequence: a power of two

    def __post_init__(self) -> None:
        check_rows(self.length, self.split_at)
        for name, value in (("length", self.length), ("shortest", self.shortest)):
            if value < 1 or value & (value - 1):
                nearest = 1 << max(0, value).bit_length() - 1 if value > 0 else 1
                raise RecipeError(f"sequences are powers of two, so {name} is one; got {value}, take {nearest}")
        if self.shortest > self.length:
            raise RecipeError(f"shortest={self.shortest} is longer than a row of {self.length} tokens")
