"""What the page moves thresholds by: the sliders of each pass, the exact counts, and the recipe with what was set."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from threading import Lock
from typing import Any

from corpusmill.errors import AssetError, InputError, RecipeError
from corpusmill.inspect.sliders import Signals, is_threshold, numeric_rules
from corpusmill.recipe.names import labels
from corpusmill.report.tables import RunTables
from corpusmill.report.visible import excerpt
from corpusmill.report.what_if import what_if

MAX_VALUE_CHARS = 40  # of a wrong threshold in a message
BORDER_EXAMPLES = 5  # documents at the border, for each reason
Moved = Mapping[str, float | None]  # `step.parameter` -> threshold; None: the rule is off


class Thresholds:
    """The numeric rules of a run, by pass. The signals of a pass are read when it is asked for first."""

    def __init__(self, tables: RunTables) -> None:
        self.tables = tables
        self._signals: dict[str, Signals] = {}
        self._reading, self._counting = Lock(), Lock()

    def stages(self) -> list[str]:
        """The passes with numeric rules that are on; none where the recipe's own steps cannot be imported from here."""
        try:
            _ = self.tables.files.recipe
        except (RecipeError, AssetError):
            return []
        passes = enumerate(self.tables.passes)
        return [stage for number, (stage, _) in passes if numeric_rules(self.tables, number)]

    def read_ahead(self) -> None:
        """Read the signals of all passes, and count once."""
        for stage in self.stages():
            self._signals_of(stage).count({})

    def sliders(self, stage: str) -> dict[str, Any]:
        """The rules of a pass, with the edges that their sliders take, and the counts of the run."""
        signals = self._signals_of(stage)
        own = [{**vars(slider), "edges": slider.edges.tolist()} for slider in signals.sliders]
        return {"stage": stage, "sliders": own, "counts": signals.count({})}

    def estimate(self, stage: str, moved: Moved) -> dict[str, Any]:
        check(moved)
        return self._signals_of(stage).count(moved)

    def exact(self, moved: Moved) -> dict[str, Any]:
        """What `corpusmill what-if` says, with documents at the border. Raises InputError where only a run can tell."""
        with self._counting:  # one at a time: it reads all that was measured
            return asdict(what_if(self.tables.folder, self._settings(moved), BORDER_EXAMPLES))

    def recipe(self, moved: Moved) -> str:
        """The recipe of the run with these thresholds, in YAML."""
        return self.tables.files.recipe_with([f"steps.{setting}" for setting in self._settings(moved)]).dump()

    def _signals_of(self, stage: str) -> Signals:
        stages = [name for name, _ in self.tables.passes]
        if stage not in self.stages():
            with_rules = ", ".join(self.stages()) or "none"
            raise InputError(
                f'{self.tables.folder}: no pass "{stage}" has numeric rules. Passes that have: {with_rules}.'
            )
        with self._reading:
            if stage not in self._signals:
                self._signals[stage] = Signals(self.tables, stages.index(stage))
            return self._signals[stage]

    def _settings(self, moved: Moved) -> list[str]:
        """For --set: whole numbers for thresholds that are whole numbers in the run."""
        check(moved)
        steps = self.tables.files.recipe.steps
        by_label = dict(zip(labels(steps), steps))
        settings = []
        for key, value in moved.items():
            label, _, parameter = key.partition(".")
            now = getattr(by_label.get(label), parameter, None)
            if not is_threshold(now):
                raise InputError(f'{self.tables.folder}: the run has no active numeric rule "{key}"')
            is_whole_number = isinstance(now, int) and value is not None
            if is_whole_number and abs(value or 0) >= 2**63:
                raise InputError(f"{key}: an integer threshold must fit in 64 bits; got {value:g}")
            settings.append(f"{key}={'null' if value is None else round(value or 0) if is_whole_number else value}")
        return settings


def check(moved: Moved) -> None:
    """Raises InputError if a threshold is neither a finite number nor null."""
    for key, value in moved.items():
        if value is not None and not is_threshold(value):
            value_text = excerpt(json.dumps(value, default=str), MAX_VALUE_CHARS)
            raise InputError(
                f"{key}: a threshold must be a finite number, or null to switch the rule off; got {value_text}"
            )
