from dataclasses import dataclass
from typing import ClassVar

from corpusmill.steps.pack._rows import check_rows
from corpusmill.tokens.breaks import SplitAt
from corpusmill.tokens.packing import Method, Remainder


@dataclass(frozen=True, kw_only=True)
class OnePerRow:
    """Give every document rows of `length` tokens of its own, filled up with padding: no packing.

    Of rows of 1,024 tokens, 56 % are padding in the demo. A document longer than a row continues in the next ones.
    Nothing is discarded.
    """

    method: ClassVar[Method] = "one_per_row"
    remainder: ClassVar[Remainder] = "pad"

    length: int = 2048  # tokens per row
    split_at: SplitAt | None = None

    def __post_init__(self) -> None:
        check_rows(self.length, self.split_at)
