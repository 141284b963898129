from dataclasses import dataclass
from typing import ClassVar

from corpusmill.steps.pack._rows import check_rows
from corpusmill.tokens.breaks import SplitAt
from corpusmill.tokens.packing import Method, Remainder


@dataclass(frozen=True, kw_only=True)
class BestFit:
    """Keep documents whole: each goes into the fullest row of `length` tokens that has room for it.

    Best-fit decreasing within a shard (Ding et al. 2024, arXiv:2404.10830, section 3). Only documents longer than a row
    are cut: into full rows and a remainder. The run reports the padding.
    """

    method: ClassVar[Method] = "best_fit"
    remainder: ClassVar[Remainder] = "pad"

    length: int = 2048  # tokens per row
    split_at: SplitAt | None = None

    def __post_init__(self) -> None:
        check_rows(self.length, self.split_at)
