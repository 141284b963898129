from dataclasses import dataclass
from typing import ClassVar

from corpusmill.errors import RecipeError
from corpusmill.tokens.breaks import SPLIT_AT, SplitAt
from corpusmill.tokens.packing import Method, Remainder


@dataclass(frozen=True, kw_only=True)
class OnePerRow:
    """Give every document rows of `length` tokens of its own, filled up with padding: no packing.

    What padding each document by itself costs, to be compared with the other steps: of rows of 1,024 tokens, 56 % are
    padding in the demo, and no model learns from it. A document longer than a row continues in the next ones, of which
    the last is padded; with `split_at`, it is cut at the last "paragraph" or "sentence" end that fits. Nothing is
    discarded.
    """

    method: ClassVar[Method] = "one_per_row"
    remainder: ClassVar[Remainder] = "pad"

    length: int = 2048  # tokens per row
    split_at: SplitAt | None = None

    def __post_init__(self) -> None:
        if self.length < 2:
            raise RecipeError(f"a row needs 2 tokens or more, for an input and its target; got length={self.length}")
        if self.split_at not in (None, *SPLIT_AT):
            raise RecipeError(f'split_at is "paragraph", "sentence" or null, got "{self.split_at}"')
