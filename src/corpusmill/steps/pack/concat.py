from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from corpusmill.errors import RecipeError
from corpusmill.steps.pack._rows import check_rows
from corpusmill.tokens.breaks import SplitAt
from corpusmill.tokens.packing import Method, Remainder


@dataclass(frozen=True, kw_only=True)
class Concat:
    """Concatenate documents and cut the stream into rows of `length` tokens.

    Only the last row may hold padding, but documents are cut where a row ends (Brown et al. 2020, arXiv:2005.14165,
    appendix B). `remainder` is what happens to a last row that is not full: "pad" fills it, "drop" reports its tokens
    as discarded, "keep" leaves it short. With `split_at`, a row ends at the last end of a document, "paragraph" or
    "sentence" that fits, and every row is padded, so `remainder` is "pad".
    """

    method: ClassVar[Method] = "concat"

    length: int = 2048  # tokens per row
    remainder: Literal["pad", "drop", "keep"] = "pad"  # pad, drop or keep a last row that is not full
    split_at: SplitAt | None = None

    def __post_init__(self) -> None:
        check_rows(self.length, self.split_at)
        if self.remainder not in get_args(Remainder):
            raise RecipeError(f'remainder is "pad", "drop" or "keep", got "{self.remainder}"')
        if self.split_at and self.remainder != "pad":
            raise RecipeError(f'with split_at every row is padded, so remainder is "pad"; got "{self.remainder}"')
