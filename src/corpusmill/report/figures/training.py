"""What the stages of training read of a run, and how often."""

from dataclasses import asdict, dataclass
from typing import Any

from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables

HEAD = ("stage", "steps", "from step", "tokens", "rows in a step", "tokens in a row")
HEAD_OF_FOLDERS = ("stage", "shards", "share", "rows", "tokens available", "epochs")


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
    """A stage of training.

    first_step   the number of its first step, over all stages
    tokens       in the rows of all its steps
    batch        rows in a step of all ranks
    length       tokens in a row
    """

    stage: str
    first_step: int
    steps: int
    tokens: int
    batch: int
    length: int
    reads: tuple[Read, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def training(tables: RunTables) -> list[Trained]:
    """The stages of training of a run, in order; none if its recipe has none."""
    record = tables.files.folder.training()
    found: list[Trained] = []
    first = 0
    for stage in record["stages"] if record else ():
        batch, length = stage["batch"], stage["length"]
        steps = max(1, stage["tokens"] // (batch * length))
        total = sum(stage["shards"].values())
        reads = []
        for path, weight in stage["shards"].items():
            name = path.partition("/")[2]
            rows, tokens = _rows(tables, name, length)
            epochs = steps * batch * weight / total / rows if rows else 0.0
            reads.append(Read(name, weight / total, rows, tokens, epochs))
        found.append(Trained(stage["name"], first, steps, steps * batch * length, batch, length, tuple(reads)))
        first += steps
    return found


def _rows(tables: RunTables, folder: str, length: int) -> tuple[int, int]:
    """Rows of this length in a folder of shards, and the tokens in them."""
    facts = tables.files.facts(folder)
    if "rows" in facts:
        return -(-(facts["tokens"] + facts["padding"]) // length), int(facts["tokens"])
    tokens = int(facts.get("written", {}).get("tokens", 0))
    return -(-tokens // length), tokens


def training_table(stages: list[Trained]) -> list[list[str]]:
    """A row for each stage, as HEAD names them."""
    return [[one.stage, *map(number, (one.steps, one.first_step, one.tokens, one.batch, one.length))] for one in stages]


def folders_table(stages: list[Trained]) -> list[list[str]]:
    """A row for each folder that a stage reads, as HEAD_OF_FOLDERS names them."""
    return [
        [one.stage, read.folder, f"{read.share:.1%}", number(read.rows), number(read.tokens), f"{read.epochs:.2f}"]
        for one in stages
        for read in one.reads
    ]
