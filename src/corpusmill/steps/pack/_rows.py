"""What the rows of every packing have in common."""

from corpusmill.errors import RecipeError
from corpusmill.tokens.breaks import SPLIT_AT, SplitAt


def check_rows(length: int, split_at: SplitAt | None) -> None:
    """Raises RecipeError if rows cannot have this length, or documents cannot be cut there."""
    if length < 2:
        raise RecipeError(f"a row needs 2 tokens or more, for an input and its target; got length={length}")
    if split_at not in (None, *SPLIT_AT):
        raise RecipeError(f'split_at is "paragraph", "sentence" or null, got "{split_at}"')
