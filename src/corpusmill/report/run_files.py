"""Where the files of a run are, and what its record says. No other file of report/ or cli/ knows the layout of a run."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.errors import InputError, ResumeError
from corpusmill.execute.commits import StageFolder
from corpusmill.facts import Facts, total
from corpusmill.recipe.model import Recipe
from corpusmill.report.waterfall import Waterfall
from corpusmill.storage import write_atomic
from corpusmill.units import Commit

RECORD = "run.json"
NEAR = 5  # runs nearby that are named if a folder holds none


class RunFiles:
    """What a run has recorded and committed.

    name          of the recipe
    fingerprint   of the recipe
    versions      package -> version
    inputs        source -> its files, each with `path`, `bytes` and `fingerprint`
    command       the command line that last carried out the run
    labels        the steps that documents pass through, in order
    stages        stage -> its commits, by unit
    passes        each pass's stage and the labels of its steps; of a run that is not finished, those that have begun

    Raises InputError if the folder holds no run, ResumeError if it holds files that its commits do not describe.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / RECORD
        if not path.exists():
            raise InputError(_no_run(folder))
        record = json.loads(path.read_text("utf-8"))
        self.folder = folder
        self.name: str = record["name"]
        self.fingerprint: str = record["fingerprint"]
        self.versions: Mapping[str, str] = record["versions"]
        self.inputs: Mapping[str, Sequence[Mapping[str, Any]]] = record["inputs"]
        self.command: Sequence[str] = record["command"]
        self.recipe_text: str = record["recipe"]
        self.labels: list[str] = [label for entry in record["passes"] for label in entry["labels"]]
        self._stage_folders = {name.partition("-")[2].rpartition("-")[0]: name for name in record["stages"]}
        self.stages: dict[str, list[Commit]] = {}
        for stage, name in self._stage_folders.items():
            commits = StageFolder(folder, name).commits()
            self.stages[stage] = [commits[unit] for unit in sorted(commits)]
        self.passes: list[tuple[str, tuple[str, ...]]] = [
            (entry["stage"], tuple(entry["labels"])) for entry in record["passes"] if self.stages[entry["stage"]]
        ]
        self._waterfall: Waterfall | None = None

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe as it was run. Raises RecipeError or AssetError where a step of it cannot be made here."""
        return self.recipe_with(())

    def recipe_with(self, settings: Sequence[str]) -> Recipe:
        """The recipe with changes, written as for --set of `corpusmill run`."""
        return Recipe.parse(self.recipe_text, str(self.folder / RECORD), settings)

    def facts(self, stage: str) -> Facts:
        """The sum of what the units of a stage counted; empty if there is no such stage."""
        return total(commit.facts for commit in self.stages.get(stage, ()))

    def unfinished(self) -> str | None:
        """What is left to do, in words; None if the run is finished."""
        for stage, name in self._stage_folders.items():
            plan = self.folder / name / "plan.json"
            if not plan.exists():
                return f"{stage} has not begun"
            units, done = len(json.loads(plan.read_bytes())["units"]), len(self.stages[stage])
            if done < units:
                failed = len(list((self.folder / name / "failed").glob("*.json")))
                return f"{stage} has {done} of {units} units" + (f", and {failed} failed" if failed else "")
        return None if self._totals.exists() else "the totals are not written yet"

    def must_be_finished(self) -> None:
        """Raises ResumeError, which says what is left to do, if the run is not finished."""
        if to_do := self.unfinished():
            raise ResumeError(
                f"{self.folder}: the run is not finished: {to_do}. Run its recipe again to continue; to look at what "
                f"is committed so far: corpusmill peek {self.folder}"
            )

    def waterfall(self) -> Waterfall:
        """Documents, bytes and tokens in and out of every step. Raises ResumeError if the run is not finished."""
        if self._waterfall is None:
            self.must_be_finished()
            self._waterfall = Waterfall.from_json(json.loads(self._totals.read_text("utf-8")))
        return self._waterfall

    def outputs(self, stage: str, name: str) -> list[str]:
        """The files `name` that the units of a stage wrote, by unit."""
        commits = self.stages.get(stage, ())
        return [str(self.folder / c.outputs[name].path) for c in commits if name in c.outputs]

    def paths(self, kind: str, number: int) -> list[str]:
        """The files of a pass, one per unit: "docs", "signals", "dropped" or "dead"."""
        return self.outputs(self.passes[number][0], kind)

    def columns(self, number: int) -> dict[str, pa.DataType]:
        """The columns of a pass's signals."""
        schema = pq.read_schema(self.paths("signals", number)[0])
        return {field.name: field.type for field in schema}

    @property
    def shards(self) -> Path | None:
        """The folder of the training shards; None if the run has written none."""
        folder = shards_of(self.folder)
        return folder if folder.exists() else None

    def write_page(self, html: str) -> Path:
        """Write the report page; returns its path."""
        path = self.folder / "report.html"
        write_atomic(str(path), html.encode("utf-8"))
        return path

    @property
    def _totals(self) -> Path:
        return self.folder / "waterfall.json"


def shards_of(folder: Path) -> Path:
    """Where a run in this folder puts its training shards. The other files of the run may have been removed."""
    return folder / "output" / "shards"


def _no_run(folder: Path) -> str:
    near = sorted(str(p.parent) for base in (folder, Path("runs")) if base.is_dir() for p in base.glob(f"*/{RECORD}"))
    hint = f" Runs nearby: {', '.join(near[:NEAR])}." if near else " `corpusmill run RECIPE` makes one."
    return f"{folder}: not a run folder (it has no {RECORD}).{hint}"
