"""What the checks look at, each part read once, and only if a check asks for it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from corpusmill.errors import AssetError, RecipeError
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import name_of, short_name
from corpusmill.report.audit import sample as sampled
from corpusmill.report.audit.sample import AuditSample
from corpusmill.report.figures.tokens import TokenStatistics, statistics
from corpusmill.report.numbers import plural
from corpusmill.report.tables import RunTables
from corpusmill.report.waterfall import Waterfall

AUDIT_SAMPLE = 1000  # documents


@dataclass(frozen=True)
class RunFacts:
    """A finished run, for its checks.

    size     documents of the sample
    chosen   the checks whose bounds the user has set
    """

    tables: RunTables
    size: int
    chosen: frozenset[str]

    @cached_property
    def flow(self) -> Waterfall:
        return self.tables.files.waterfall()

    @cached_property
    def sample(self) -> AuditSample:
        return sampled.sample(self.tables, self.size)

    @cached_property
    def tokens(self) -> TokenStatistics | None:
        return statistics(self.tables)

    @cached_property
    def recipe(self) -> Recipe | None:
        """None where one of its steps cannot be made here: then no change of it is advised."""
        try:
            return self.tables.files.recipe
        except (RecipeError, AssetError):
            return None

    @cached_property
    def steps(self) -> dict[str, tuple[str, Any]]:
        """label -> name and step of the recipe; empty where one of its steps cannot be made here."""
        return {label: (name_of(step), step) for label, step in self.tables.steps.items()}

    @cached_property
    def is_web(self) -> bool:
        """Whether at least half of the input documents have a web address."""
        query = f"SELECT count(*), count(*) FILTER (url LIKE 'http%') FROM ({self.tables.table('signals', 0)})"
        ((documents, with_address),) = self.tables.tuples(query)
        return bool(2 * with_address >= documents > 0)

    @property
    def reads_code(self) -> bool:
        """Whether all sources are source code."""
        sources = self.recipe.read if self.recipe else ()
        return bool(sources) and all(short_name(name_of(source.reader)) == "code" for source in sources)

    @property
    def of_sample(self) -> str:
        """What shares of the sample are shares of, in words."""
        read, all_of_them = len(self.sample.ids), self.flow.documents_out
        output_size = plural(all_of_them, "document")
        return f"all {output_size}" if read == all_of_them else f"a sample of {read:,} of {output_size}"
