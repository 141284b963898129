"""Which languages the documents are in."""

from dataclasses import dataclass

from corpusmill.report.tables import RunTables


@dataclass(frozen=True)
class LanguageFigure:
    """Documents that a step found to be in a language, None if it found none: those that the pass of the step kept,
    and those that it dropped. Of a run with `run.measure_dropped: none`, those are not known, and counted as 0."""

    label: str | None
    kept: int
    dropped: int


@dataclass(frozen=True)
class LanguageFigures:
    """What a step that identifies languages found, the most frequent first. `last_step` is the last one of its pass."""

    step: str
    last_step: str
    measured: str  # how far dropped documents were: "all", "first" or "none"
    languages: tuple[LanguageFigure, ...]


def languages(tables: RunTables) -> list[LanguageFigures]:
    """Every step of a run that identifies languages, in order."""
    figures = []
    for number, (stage, labels) in enumerate(tables.passes):
        counted = tables.files.facts(stage).get("languages", {})
        for step in (step for step in labels if step in counted):
            language_figures = [LanguageFigure(label or None, *counts) for label, counts in counted[step].items()]
            # As in SQL: of equally many by their names, and last those without one.
            language_figures.sort(
                key=lambda language: (-language.kept - language.dropped, language.label is None, language.label)
            )
            figures.append(
                LanguageFigures(step, labels[-1], tables.files.measure_dropped(number), tuple(language_figures))
            )
    return figures
