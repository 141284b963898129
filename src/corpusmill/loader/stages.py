"""Training in stages: pre-training, annealing, long context, each with its own budget, mixture and row length.

>>> from corpusmill.loader.stages import StageLoader
>>> loader = StageLoader("stages.json", rank=0, world=8)               # doctest: +SKIP
>>> for batch in loader: ...                                           # doctest: +SKIP

A step belongs to a stage by its number, and its batch is a function of the seed and that number alone. The rows of a
step are said for all ranks together, so every world size that divides them sees the same batches, and a run can resume
in another stage, and on other machines, at one number.
"""

import json
import os
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from corpusmill.errors import ShardError, did_you_mean
from corpusmill.loader.arguments import shown, whole_number
from corpusmill.loader.exposure import Served
from corpusmill.loader.rows import FIELDS, same_tokenizer
from corpusmill.loader.tokens import MAX_RANKS, MAX_SAMPLES, Batch, Piece, TokenLoader
from corpusmill.tokens.budget import amount, steps_of

TRAINING_FILE = "training.json"  # in the folder of a run whose recipe has stages


@dataclass(frozen=True)
class LoaderStage:
    """A part of training.

    name     of the stage
    tokens   budget; as many whole steps as it has room for, one at least
    shards   a folder of shards, or a run; or several, mixed: {folder: weight}, weights in rows
    length   tokens in a row; None: that of the shards
    batch    rows in a step of all ranks
    """

    name: str
    tokens: int
    shards: str | Mapping[str, float]
    batch: int
    length: int | None = None

    @property
    def weights(self) -> dict[Any, float]:
        """The share of each folder."""
        weights = {self.shards: 1.0} if isinstance(self.shards, str) else dict(self.shards)
        total = sum(weights.values())
        return {folder: weight / total for folder, weight in weights.items()}


class StageLoader:
    """Batches of all stages, one after the other.

    stages   a run whose recipe has stages, a file of `read_stages`, or stages, or mappings with their fields
    seed     of the order; each stage has its own order of it, so that a folder in two stages is drawn anew
    rank, world   number of this process, and of all; each stage's `batch` is divided among them
    fields, prefetch, tokenizer   as of `TokenLoader`

    Raises ShardError if stages are wrong, their shards cannot be read or are of different tokenizers, or the rows of a
    step cannot be divided among the ranks.
    """

    def __init__(
        self,
        stages: str | os.PathLike[str] | Sequence[LoaderStage | Mapping[str, Any]],
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        *,
        fields: Collection[str] = FIELDS,
        prefetch: int = 0,
        tokenizer: Any = None,
    ) -> None:
        self.stages = stages_of(stages)
        self.seed = whole_number("seed", seed)
        self.world = whole_number("world", world, 1, MAX_RANKS)
        self.loaders = tuple(
            TokenLoader(
                stage.weights,
                stage.length,
                _rows_each(stage, self.world),
                self.seed + number,
                rank,
                self.world,
                fields=fields,
                prefetch=prefetch,
                tokenizer=tokenizer,
            )
            for number, stage in enumerate(self.stages)
        )
        same_tokenizer({name: opened for loader in self.loaders for name, opened in zip(loader.names, loader.shards)})
        self.steps = tuple(
            steps_of(stage.tokens, stage.batch, loader.length) for stage, loader in zip(self.stages, self.loaders)
        )
        self._ends = [sum(self.steps[: number + 1]) for number in range(len(self.steps))]
        self.step = 0  # the next one

    def __repr__(self) -> str:
        parts = ", ".join(f"{stage.name} {steps:,} steps" for stage, steps in zip(self.stages, self.steps))
        return f"<StageLoader of {parts}: seed {self.seed}, at step {self.step:,}>"

    def __len__(self) -> int:
        """Steps of all stages."""
        return self._ends[-1]

    def locate(self, step: int) -> tuple[int, int]:
        """The number of the stage that a step is in, and that of the step within it."""
        step = whole_number("step", step, 0, len(self) - 1, f"the stages have {len(self):,} steps")
        number = bisect_right(self._ends, step)
        return number, step - (self._ends[number] - self.steps[number])

    def at(self, step: int) -> Batch:
        """The batch of a step of this rank."""
        number, inside = self.locate(step)
        return self.loaders[number].at(inside)

    def trace(self, step: int) -> list[Piece]:
        """The documents of a step's batch of this rank."""
        number, inside = self.locate(step)
        return self.loaders[number].trace(inside)

    def served(self, ids: Collection[str]) -> dict[str, list[Served]]:
        """id -> the batches of all stages that hold some of the document, in order of steps, which are counted over all
        stages; none of one that no stage reads. Raises ShardError if shards were written without tables."""
        exposures: dict[str, list[Served]] = {doc_id: [] for doc_id in ids}
        for loader, steps, end in zip(self.loaders, self.steps, self._ends):
            for name, rows, share in zip(loader.names, loader.rows, loader.order.shares):
                drawn = steps * loader.batch_size * loader.world * share / sum(loader.order.shares)
                epochs = int(drawn / max(len(rows), 1)) + 2
                for doc_id, numbers in rows.shards.numbers_of(ids).items():
                    batches = loader.served(numbers, name, epochs)
                    exposures[doc_id] += [b._replace(step=end - steps + b.step) for b in batches if b.step < steps]
        return {doc_id: sorted(batches) for doc_id, batches in exposures.items()}

    def __iter__(self) -> Iterator[Batch]:
        """Batches from the state on, to the end of the last stage. The state counts a batch as soon as it is
        yielded."""
        while self.step < len(self):
            number, inside = self.locate(self.step)
            loader = self.loaders[number]
            loader.samples = inside * loader.batch_size * loader.world
            batches = iter(loader)
            for _ in range(self.steps[number] - inside):
                batch = next(batches)
                self.step += 1
                yield batch
                for any_stage in self.loaders:  # what is missing in the last one is missed now, not weeks later
                    any_stage.check_there()

    def state_dict(self) -> dict[str, Any]:
        """The progress of training in a few numbers, independent of the world size."""
        return {"step": self.step, "seed": self.seed, "stages": self._data(self.step)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume at a state. Raises ShardError, and changes nothing, if it is none of `state_dict`, or a stage that had
        begun is another now. Later stages may be changed."""
        if not isinstance(state, Mapping) or not {"step", "seed", "stages"} <= set(state):
            raise ShardError(f"a state is what state_dict() of a StageLoader returned, got {shown(state)}.")
        step = whole_number("step of the state", state["step"], 0, MAX_SAMPLES)
        if step > len(self):
            raise ShardError(f"the state is at step {step:,}, and the stages end at {len(self):,}.")
        current = {"seed": self.seed, "stages": self._data(step)}
        saved = {"seed": state["seed"], "stages": json.loads(json.dumps(state["stages"]))}
        if differs := [name for name in current if saved[name] != json.loads(json.dumps(current[name]))]:
            changes = "; ".join(f"{name} was {shown(saved[name])}, is {shown(current[name])}" for name in differs)
            raise ShardError(f"the state belongs to other stages: {changes}")
        self.step = step

    def _data(self, step: int) -> list[list[Any]]:
        """All that the order of the stages that have begun at a step depends on, besides the seed; of one that is not
        finished, its end may be moved."""
        begun = [i for i, end in enumerate(self._ends) if end - self.steps[i] < step]
        return [
            [self.stages[i].name, self.stages[i].batch, self.loaders[i].state_dict()["data"]]
            + ([self.steps[i]] if self._ends[i] <= step else [])
            for i in begun
        ]


def read_stages(path: str | os.PathLike[str]) -> tuple[LoaderStage, ...]:
    """The stages of a run, or those in a file: {"stages": [{"name": …, "tokens": "2B", "shards": …, "batch": …,
    "length": …}, …]}, as JSON, or, where PyYAML is installed, as YAML. Folders that are not absolute are relative to
    that of the file.

    Raises ShardError if it cannot be read, or says something else.
    """
    file = Path(path)
    if file.is_dir():
        if not (file / TRAINING_FILE).exists():
            raise ShardError(
                f"{file}: this run has no training stages (no {TRAINING_FILE}). Add a section `stages` to its recipe, "
                "or give its shards to a TokenLoader."
            )
        file /= TRAINING_FILE
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ShardError(f"{file}: cannot be read: {error}") from error
    try:
        record = json.loads(text) if file.suffix == ".json" else _yaml(text)
    except ValueError as error:
        raise ShardError(f"{file}: {error}") from error
    if not isinstance(record, dict) or set(record) != {"stages"} or not isinstance(record["stages"], list):
        raise ShardError(f'{file}: a file of stages has "stages", a list, and nothing else.')
    try:
        stages = stages_of(record["stages"])
    except ShardError as error:
        raise ShardError(f"{file}: {error}") from error
    resolved = []
    for stage in stages:
        weights = {os.fspath(file.parent / folder): weight for folder, weight in stage.weights.items()}
        resolved.append(LoaderStage(stage.name, stage.tokens, weights, stage.batch, stage.length))
    return tuple(resolved)


def _yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise ValueError("PyYAML is not installed here; write the stages as JSON, in a file named .json") from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {error}") from error


def stages_of(source: str | os.PathLike[str] | Sequence[LoaderStage | Mapping[str, Any]]) -> tuple[LoaderStage, ...]:
    """Stages, checked. Raises ShardError, with the stage, if one is wrong."""
    if isinstance(source, str | os.PathLike):
        return read_stages(source)
    stages = tuple(_stage(number, stage) for number, stage in enumerate(source))
    names = [stage.name for stage in stages]
    if not stages or len(set(names)) < len(names):
        raise ShardError(f"give one stage or more, each with a name of its own; got {', '.join(names) or 'none'}.")
    return stages


def _stage(number: int, record: LoaderStage | Mapping[str, Any]) -> LoaderStage:
    where = f"stages[{number}]"
    if isinstance(record, LoaderStage):
        record = {field.name: getattr(record, field.name) for field in fields(LoaderStage)}
    field_names = [field.name for field in fields(LoaderStage)]
    if not isinstance(record, Mapping):
        raise ShardError(f"{where}: a stage has {', '.join(field_names)}; got {shown(record)}.")
    for name in record:
        if name not in field_names:
            raise ShardError(f'{where}: a stage has no "{name}"{did_you_mean(str(name), field_names) or "."}')
    if missing := [name for name in field_names if name != "length" and name not in record]:
        raise ShardError(f"{where}: needs {' and '.join(missing)}.")
    name, shards = record["name"], record["shards"]
    if not isinstance(name, str) or not name:
        raise ShardError(f"{where}: name is a text, got {shown(name)}.")
    where = f"{where} ({name})"
    weights = shards if isinstance(shards, Mapping) else {shards: 1.0}
    if not weights or not all(
        isinstance(folder, str) and isinstance(weight, int | float) and 0 < weight < float("inf")
        for folder, weight in weights.items()
    ):
        raise ShardError(
            f"{where}: shards is a folder, or {{folder: weight}} with weights above 0; got {shown(shards)}."
        )
    length = record.get("length")
    return LoaderStage(
        name,
        whole_number(f"{where}: tokens", _amount(record["tokens"]), 1, MAX_SAMPLES),
        dict(weights),
        whole_number(f"{where}: batch", record["batch"], 1, MAX_RANKS),
        None if length is None else whole_number(f"{where}: length", length, 1, MAX_SAMPLES),
    )


def _amount(tokens: Any) -> Any:
    """A number of tokens, as 2000, "2B" or "1.5T"; what is none is returned as it is."""
    if isinstance(tokens, str):
        try:
            return round(amount(tokens))
        except ValueError:
            return tokens
    return int(tokens) if isinstance(tokens, float) and tokens.is_integer() else tokens


def _rows_each(stage: LoaderStage, world: int) -> int:
    rows, remainder = divmod(stage.batch, world)
    if remainder or not rows:
        multiple = max(world, stage.batch // world * world)
        raise ShardError(
            f"{stage.name}: a step has {stage.batch} rows, which {world} ranks cannot share equally. Give batch a "
            f"multiple of {world}, as {multiple}, or take another number of ranks."
        )
    return rows
