"""HTML that is left in the documents after the last step."""

from collections.abc import Sequence
from dataclasses import dataclass

from corpusmill.report.numbers import share
from corpusmill.report.tables import RunTables

WORTH = 0.01  # of a source's documents: fewer are texts about HTML as a rule, which show some
STEP = "html"  # the label of clean/html: what it leaves are tags that a text shows to its readers


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
    """A sentence for each source with so much markup that a step is missing."""
    if STEP in tables.labels:
        return []
    return in_words([(one.source, one.documents, one.markup) for one in markup(tables)], "after the last step")


def in_words(counted: Sequence[tuple[str, int, int]], when: str) -> list[str]:
    """`counted` is source, documents, and those of them that hold markup.

    >>> in_words([("web", 1000, 123), ("books", 1000, 9)], "after the last step")
    ['12.3 % of the documents of source web hold HTML markup after the last step: add clean/html as the first step']
    """
    return [
        f"{share(found, documents)} of the documents of source {source} hold HTML markup {when}: "
        "add clean/html as the first step"
        for source, documents, found in counted
        if found and found >= WORTH * documents
    ]
