"""What the stages of training read of a run, and how often."""

from dataclasses import asdict, dataclass
from typing import Any

from corpusmill.recipe.stages import Scheduled, scheduled
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables
from corpusmill.store.run_folder import TRAINING_RECORD

TRAINING_HEAD = ("stage", "steps", "from step", "tokens", "rows per step", "tokens per row")
FOLDERS_HEAD = ("stage", "shards", "share", "rows", "tokens available", "epochs")


@dataclass(frozen=True)
class Read:
    """What a stage reads of a folder of output.

    share    of the rows of the stage
    rows     that the folder has, of the length of the stage
    tokens   in these, padding left out
    epochs   how often the stage reads a row, on average
    """

    folder: str
    share: float
    rows: int
    tokens: int
    epochs: float


@dataclass(frozen=True)
class Trained:
    """A stage of training: when it is, and what it reads."""

    when: Scheduled
    reads: tuple[Read, ...]

    def to_json(self) -> dict[str, Any]:
        when = self.when._asdict()
        del when["shares"]
        return {**when, "reads": [asdict(read) for read in self.reads]}


def training(tables: RunTables) -> list[Trained]:
    """The stages of training of a run, in order; none if its recipe has none."""
    stages = []
    for when in scheduled(tables.files.folder.read(TRAINING_RECORD)):
        reads = []
        for name, share in when.shares.items():
            rows, tokens = _rows(tables, name, when.length)
            reads.append(Read(name, share, rows, tokens, when.steps * when.batch * share / rows if rows else 0.0))
        stages.append(Trained(when, tuple(reads)))
    return stages


def _rows(tables: RunTables, folder: str, length: int) -> tuple[int, int]:
    """Rows of this length in a folder of shards, and the tokens in them."""
    facts = tables.files.facts(folder)
    if "rows" in facts:
        return -(-(facts["tokens"] + facts["padding"]) // length), int(facts["tokens"])
    tokens = int(facts.get("written", {}).get("tokens", 0))
    return -(-tokens // length), tokens


def training_table(stages: list[Trained]) -> list[list[str]]:
    """A row for each stage, as TRAINING_HEAD names them."""
    times = [stage.when for stage in stages]
    return [[when.stage, *map(number, (when.steps, when.first_step, *when[3:6]))] for when in times]


def folders_table(stages: list[Trained]) -> list[list[str]]:
    """A row for each folder that a stage reads, as FOLDERS_HEAD names them."""
    reads = [(stage.when.stage, read) for stage in stages for read in stage.reads]
    return [
        [stage, read.folder, f"{read.share:.1%}", number(read.rows), number(read.tokens), f"{read.epochs:.2f}"]
        for stage, read in reads
    ]
