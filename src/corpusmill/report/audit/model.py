"""A check of a run and its verdict, and the audit, which is all checks."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from corpusmill.display import table
from corpusmill.recipe.advice import RecipeChange
from corpusmill.report.audit.bounds import Bounds
from corpusmill.report.numbers import measured, number

Verdict = Literal["red flag", "warning", "ok", "not measured"]
Unit = Literal["share", "count", "number"]


@dataclass(frozen=True)
class Check:
    """One question to a run.

    value      what was measured, in the unit: a share from 0 to 1, a count, or a number; None if nothing was
    bounds     where it should be
    verdict    "red flag" if it is outside and something is likely wrong with the output; "warning" where there may be a
               good reason. Outside a bound that the user has set, it is always a red flag
    seen       what was counted, in words; why, if nothing was measured
    advice     what to change, as a line of a recipe or a command; empty if the verdict is ok
    changes    the same as values, as far as it is about the recipe
    examples   ids of documents that show it
    """

    name: str
    question: str
    value: float | None
    unit: Unit
    bounds: Bounds
    verdict: Verdict
    seen: str
    advice: str = ""
    examples: tuple[str, ...] = ()
    changes: tuple[RecipeChange, ...] = ()

    @property
    def shown(self) -> str:
        """The value in words."""
        if self.value is None:
            return "–"
        if self.unit == "share":
            return f"{100 * self.value:.1f} %"
        return number(self.value) if self.unit == "count" else measured(float(self.value))


@dataclass(frozen=True)
class Audit:
    """All checks of a run.

    run         its folder
    documents   of its output
    sample      of these, those that were read
    """

    run: str
    documents: int
    sample: int
    checks: tuple[Check, ...]

    @property
    def red_flags(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.verdict == "red flag")

    @property
    def warnings(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.verdict == "warning")

    def __getitem__(self, name: str) -> Check:
        """The check of this name. Raises KeyError if there is none."""
        return {check.name: check for check in self.checks}[name]

    def __repr__(self) -> str:
        return f"<Audit {self._in_short()}>"

    def _in_short(self) -> str:
        findings = [f"{check.name} ({check.verdict})" for check in (*self.red_flags, *self.warnings)]
        return f"{self.run}: {len(self.checks)} checks, {', '.join(findings) or 'nothing found'}"

    def _repr_html_(self) -> str:
        rows = [[check.verdict, check.name, check.seen, check.advice] for check in self.checks]
        return table(f"Audit of {self.run}", ["verdict", "check", "observed", "advice"], rows)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
