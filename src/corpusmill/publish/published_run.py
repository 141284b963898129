"""What a finished run knows of the data set that it made, read once for card, metadata and summaries."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from corpusmill.errors import AssetError, RecipeError
from corpusmill.report.audit import Audit
from corpusmill.report.audit import audit as check
from corpusmill.report.figures.domains import Domains, domains
from corpusmill.report.figures.languages import LanguageFigure, LanguageFigures, languages
from corpusmill.report.figures.licences import Licences, licences
from corpusmill.report.figures.models import Synthetic, synthetic
from corpusmill.report.figures.rights import RightsFigure, rights
from corpusmill.report.numbers import number, size
from corpusmill.report.run_files import RunFiles
from corpusmill.report.tables import RunTables
from corpusmill.report.waterfall import Waterfall
from corpusmill.steps.tokenize.bpe import Bpe
from corpusmill.steps.tokenize.bytes import Bytes


@dataclass(frozen=True)
class PublishedRun:
    """A finished run, and the licence that its user gives the data set. Raises ResumeError if it is not finished."""

    tables: RunTables
    license: str | None = None

    @property
    def files(self) -> RunFiles:
        return self.tables.files

    @cached_property
    def flow(self) -> Waterfall:
        return self.files.waterfall()

    @cached_property
    def domains(self) -> Domains:
        return domains(self.tables)

    @cached_property
    def licences(self) -> list[Licences]:
        return licences(self.tables)

    @cached_property
    def rights(self) -> list[RightsFigure]:
        return rights(self.tables)

    @cached_property
    def synthetic(self) -> list[Synthetic]:
        return synthetic(self.tables)

    @cached_property
    def audit(self) -> Audit:
        return check(self.files.folder)

    @property
    def languages(self) -> list[LanguageFigure]:
        """Of the documents that the pass of `language_step` kept, most frequent first."""
        return [language for language in self._spoken.languages if language.kept] if self._spoken else []

    @property
    def language_step(self) -> str | None:
        """The last step that identified languages; None if there is none."""
        return self._spoken.step if self._spoken else None

    @cached_property
    def _spoken(self) -> LanguageFigures | None:
        return next(iter(languages(self.tables)[::-1]), None)

    @property
    def documents(self) -> int:
        return self.flow.documents_out

    @property
    def bytes(self) -> int:
        """Of text; 0 of a recipe without steps."""
        return self.flow.rows[-1].bytes_out if self.flow.rows else 0

    @property
    def tokens(self) -> int:
        """0 where the recipe counts none."""
        return self.flow.rows[-1].tokens_out if self.flow.rows else 0

    @property
    def summary(self) -> str:
        """Documents, bytes and tokens in words."""
        facts = [f"{number(self.documents)} documents"]
        if self.bytes:
            facts.append(f"{size(self.bytes)} of text")
        if self.tokens:
            tokenizer = f" of the tokenizer `{self.tokenizer}`" if self.tokenizer else ""
            facts.append(f"{number(self.tokens)} tokens{tokenizer}")
        return ", ".join(facts)

    @cached_property
    def tokenizer(self) -> str | None:
        """As the recipe names it; a path of this machine by its last part. None if there is none, or it is not
        known."""
        try:
            names = [step.tokenizer for step in self.files.recipe.steps if isinstance(step, Bpe | Bytes)]
        except (RecipeError, AssetError):
            return None
        return next((name if not Path(name).is_absolute() else Path(name).name for name in names), None)

    @cached_property
    def dates(self) -> tuple[str, str] | None:
        """The earliest and the latest date of a kept document, as the input has them; None if no document has one."""
        if not self.tables.passes:
            return None
        last = self.tables.table("signals", len(self.tables.passes) - 1)
        ((first, latest),) = self.tables.tuples(
            f"SELECT min(date), max(date) FROM ({last}) WHERE dropped_by IS NULL AND date != ''"
        )
        return (str(first), str(latest)) if first else None
