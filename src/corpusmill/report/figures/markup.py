"""HTML that is left in the documents after the last step."""

from collections.abc import Sequence
from dataclasses import dataclass

from corpusmill.errors import AssetError, RecipeError
from corpusmill.recipe.advice import strip_html
from corpusmill.recipe.model import Recipe
from corpusmill.report.numbers import share
from corpusmill.report.tables import RunTables

MIN_MARKUP_SHARE = 0.01  # of a source's documents: fewer are texts about HTML as a rule, which show some


@dataclass(frozen=True)
class Markup:
    """A source: how many of its documents were looked at after the last step, the first 256 of each unit, and how many
    of these hold HTML markup, as `corpusmill.steps.markup` defines it."""

    source: str
    documents: int
    markup: int


def markup(tables: RunTables) -> list[Markup]:
    """The sources with any document after the last step, in the order of the recipe."""
    stage, _ = tables.passes[-1]
    counted = tables.files.facts(stage).get("markup", {})
    return [Markup(name, **counted[name]) for name in tables.files.inputs if name in counted]


def warnings(tables: RunTables) -> list[str]:
    """A sentence for each source with so much markup that a step is missing; none where the recipe's own steps cannot
    be imported from here, so that nobody can tell."""
    counted = [(figure.source, figure.documents, figure.markup) for figure in markup(tables)]
    if not any(map(_is_marked_up, counted)):
        return []
    try:
        recipe = tables.files.recipe
    except (RecipeError, AssetError):
        return []
    return in_words(recipe, counted, "after the last step")


def in_words(recipe: Recipe, counted: Sequence[tuple[str, int, int]], when: str) -> list[str]:
    """A sentence for each source whose texts hold markup, and that no step extracts or strips.

    counted   source, documents, and those of them that hold markup
    """
    return [
        f"{share(markup, documents)} of the documents of source {source} contain HTML markup {when}: {change}"
        for source, documents, markup in filter(_is_marked_up, counted)
        for change in strip_html(recipe, [source])
    ]


def _is_marked_up(counts: tuple[str, int, int]) -> bool:
    _, documents, markup = counts
    return markup > 0 and markup >= MIN_MARKUP_SHARE * documents
