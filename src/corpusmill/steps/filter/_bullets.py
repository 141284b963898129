"""The share of lines that begin with a bullet, for bullets of one's own."""

import pyarrow as pa

from corpusmill.errors import RecipeError
from corpusmill.steps import Columns
from corpusmill.steps.measures import ratio
from corpusmill.text.marks import count_bullets

MEASURED = frozenset("•-")  # what the measures of `corpusmill.steps.measures` count as bullets


def check_bullets(bullets: str, name: str, rule: str) -> None:
    """Raises RecipeError unless every character can begin a line."""
    if not bullets or any(map(str.isspace, bullets)):
        raise RecipeError(
            f'{name}: bullets is a text of characters that are not white space, as in "•-*", got "{bullets}"; '
            f"to switch the rule off, set {rule} to null"
        )


def bullet_line_ratio(texts: pa.LargeStringArray, bullets: str) -> Columns:
    """The column `bullet_line_ratio`, or none where the measure of the same name counts these very bullets."""
    if set(bullets) == MEASURED:
        return {}
    lines, bulleted = count_bullets(texts, bullets)
    return {"bullet_line_ratio": pa.array(ratio(bulleted, lines))}
