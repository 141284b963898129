"""From a recipe to the stages that carry it out.

Neighbouring steps that see a batch are fused into one pass. Corpus steps that follow each other take their keys from
the pass before them, one after the other, and the next pass brings their verdicts together with the documents:

    pass-1    read, steps, keys          one unit for every `unit_mb` of input
    LABEL-…   the stages of each corpus step, ending in LABEL-verdicts
    pass-2    documents and verdicts, steps
    tokens    token ids of the documents that stay
    epochs    the same of those that a mix draws more than once, time after time
    WRITER    what each writer writes: packed rows, one unit a training shard, or documents
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpusmill.errors import InputError
from corpusmill.keys import Signed, bases
from corpusmill.recipe.against import describe_with_assets, earlier_keys, keys_of
from corpusmill.recipe.fingerprint import describe
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels
from corpusmill.recipe.order import check_order
from corpusmill.recipe.passes import Pass, Sign
from corpusmill.recipe.text_files import text_files
from corpusmill.recipe.write_tokens import WriteTokens
from corpusmill.recipe.writing import EPOCHS, PackRows, RepeatDocuments, TokenizeDocuments, WriteDocuments
from corpusmill.steps import CorpusStep, Pack, Tokenize
from corpusmill.storage import FileInfo, expand
from corpusmill.units import Committed, Stage, Unit
from corpusmill.write import DocumentWriter, TokenWriter

NO_TEXT = pa.array([""], pa.large_string())
SLICE = 2 << 30  # bytes of input for each slice of a band: about a million records a partition
COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".parquet")
EXPANDS = 4  # how much larger text is than its compressed file, roughly: only the size of partitions depends on it


@dataclass(frozen=True)
class PassInfo:
    """What a report needs to know of a pass: its stage, and the labels of its steps in order."""

    stage: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A recipe with its inputs, as stages.

    stages    in the order in which they run
    passes    those of the stages that carry documents through steps
    inputs    the files of each source, as they were found
    """

    recipe: Recipe
    stages: tuple[Stage, ...]
    passes: tuple[PassInfo, ...]
    inputs: tuple[tuple[FileInfo, ...], ...]

    @property
    def checks(self) -> list[Callable[[], None]]:
        """What has to be called before anything runs; each can be sent to a worker, as the works can.

        They put no documents through every pass: seconds on a machine where kernels are not compiled yet. They raise
        RecipeError if a step asks for what no step before it leaves, or cannot work with it; MissingExtraError if a
        writer's library is not installed.
        """
        found = []
        for stage in self.stages:
            if isinstance(stage.work, Pass):
                found.append(stage.work.check)
            elif check := getattr(getattr(stage.work, "writer", None), "check", None):
                found.append(check)
        return found

    def check(self) -> None:
        for check in self.checks:
            check()


def lower(recipe: Recipe) -> Plan:
    """The plan of a recipe. Looks up which input files there are, and reads none of them.

    Raises InputError if a source has no files, RecipeError if a step cannot work with what comes before it.
    """
    check_order(recipe)
    inputs = tuple(tuple(expand(source.paths, getattr(source.reader, "suffixes", ()))) for source in recipe.read)
    if not any(file.size for files in inputs for file in files):
        raise InputError("all input files are empty: " + ", ".join(f.path for files in inputs for f in files)[:500])
    return _Lowering(recipe, inputs).plan()


@dataclass(frozen=True)
class Judged:
    """A corpus step, and the stage that writes its verdicts."""

    label: str
    step: CorpusStep
    verdicts: str


class _Lowering:
    def __init__(self, recipe: Recipe, inputs: tuple[tuple[FileInfo, ...], ...]) -> None:
        self.recipe = recipe
        self.inputs = inputs
        self.stages: list[Stage] = []
        self.passes: list[PassInfo] = []
        named = list(zip(labels(recipe.steps), recipe.steps))
        self.tokenize = next((step for step in recipe.steps if isinstance(step, Tokenize)), None)
        self.pack = next((step for step in recipe.steps if isinstance(step, Pack)), None)
        self.steps = [(label, step) for label, step in named if not isinstance(step, Tokenize | Pack)]
        size = sum(file.size * (EXPANDS if file.path.endswith(COMPRESSED) else 1) for files in inputs for file in files)
        self.sources = tuple(source.source for source in recipe.read)
        # The step that says how often each document is drawn. None that stands after it drops or changes any.
        self.mix = next((label for label, step in self.steps if draws(step)), None)
        self.slices = 1 << max((size // SLICE).bit_length(), 0)

    def plan(self) -> Plan:
        steps = list(self.steps)
        judged: list[Judged] = []  # the corpus steps before the next pass
        upstream = _inputs_print(self.recipe, self.inputs)
        while True:
            batch = _take(steps, lambda step: not isinstance(step, CorpusStep))
            corpus = _take_corpus(steps)
            upstream = self._add_pass(batch, corpus, judged, upstream)
            judged = []
            for label, step in corpus:
                earlier, print_ = earlier_keys(step, label)
                upstream = _print(upstream, label, describe_with_assets(step), print_)
                before = tuple(judge.verdicts for judge in judged)
                signed = Signed(
                    self.passes[-1].stage,
                    label,
                    upstream,
                    self._slices(step),
                    before,
                    earlier,
                    self.sources,
                    self._around(step),
                )
                self.stages += step.stages(signed)
                judged.append(Judged(label, step, self.stages[-1].name))
            if not steps and not judged:
                break
        self._add_outputs(upstream)
        return Plan(self.recipe, tuple(self.stages), tuple(self.passes), self.inputs)

    def _add_pass(
        self,
        steps: list[tuple[str, Any]],
        corpus: list[tuple[str, Any]],
        judged: list[Judged],
        upstream: str,
    ) -> str:
        name = f"pass-{len(self.passes) + 1}"
        first = not self.passes
        work = Pass(
            readers=tuple((source.source, source.reader) for source in self.recipe.read) if first else (),
            judged=tuple((judge.label, judge.step) for judge in judged),
            steps=tuple(steps),
            signs=tuple(Sign(label, step, self._slices(step)) for label, step in corpus),
            tokenizer=self.tokenize,
        )
        described = [[label, describe_with_assets(step)] for label, step in steps]
        described += [[label, keys_of(step)] for label, step in corpus]
        counting = describe_with_assets(self.tokenize) if self.tokenize else None
        fingerprint = _print(upstream, name, described, counting, code())
        if first:
            files, sources, target = self.inputs, self.recipe.read, self.recipe.run.unit_mb << 20
            self.stages.append(
                Stage(
                    name,
                    fingerprint,
                    work,
                    (),
                    lambda done, root: _first_units([s.reader for s in sources], files, target),
                )
            )
        else:
            before = self.passes[-1].stage
            verdicts = tuple(judge.verdicts for judge in judged)
            self.stages.append(
                Stage(
                    name,
                    fingerprint,
                    work,
                    (before, *verdicts),
                    lambda done, root: _later_units(done, before, verdicts),
                )
            )
        self.passes.append(PassInfo(name, tuple(label for label, _ in (*work.judged, *steps))))
        return fingerprint

    def _slices(self, step: CorpusStep) -> int:
        slices: int = self.slices * getattr(step, "records", 1)
        return slices

    def _around(self, step: Any) -> int:
        """Tokens that begin and end each document, for a step that counts them."""
        if self.tokenize is None or not draws(step):
            return 1
        _, (length,) = self.tokenize.encode(NO_TEXT)
        return int(length) - int(self.tokenize.count(NO_TEXT)[0])

    def _add_outputs(self, upstream: str) -> None:
        last = self.passes[-1].stage
        named = dict(zip(labels(self.recipe.write), self.recipe.write))
        for name, writer in named.items():
            if isinstance(writer, DocumentWriter):
                print_ = _print(upstream, describe(writer), code())
                work = WriteDocuments(writer, f"{self.mix}.copies" if self.mix else None)
                self.stages.append(Stage(name, print_, work, (last,), partial(_text_units, writer, last)))
        shards = {name: writer for name, writer in named.items() if not isinstance(writer, DocumentWriter)}
        if self.tokenize is None or not shards:
            return
        split_at = getattr(self.pack, "split_at", None)
        tokens = _print(upstream, describe_with_assets(self.tokenize), split_at, code())
        tokenizing = TokenizeDocuments(self.tokenize, split_at)
        self.stages.append(Stage("tokens", tokens, tokenizing, (last,), lambda done, root: _document_units(done, last)))
        streams = ["tokens"]
        if self.mix is not None:
            after = (last, "tokens", verdicts := f"{self.mix}-verdicts")
            repeating = RepeatDocuments(f"{self.mix}.copies")
            again = partial(_repeat_units, last, verdicts)
            self.stages.append(Stage(EPOCHS, _print(tokens, EPOCHS), repeating, after, again))
            streams.append(EPOCHS)
        for name, writer in shards.items():
            if isinstance(writer, TokenWriter):
                print_ = _print(tokens, describe(writer))
                writing = WriteTokens(writer)
                self.stages.append(Stage(name, print_, writing, tuple(streams), partial(_shard_units, writing)))
                continue
            assert self.pack is not None  # as check_order has seen
            packing = PackRows(self.pack, self.tokenize, writer)
            print_ = _print(tokens, describe(self.pack), describe(writer))
            self.stages.append(Stage(name, print_, packing, (last, *streams), partial(_row_units, packing, last)))


def draws(step: Any) -> bool:
    """Whether a step says how often documents are drawn."""
    return isinstance(step, CorpusStep) and "copies" in step.verdict.names


def _take(steps: list[tuple[str, Any]], wanted: Any) -> list[tuple[str, Any]]:
    """Take the steps from the front that are wanted."""
    taken = []
    while steps and wanted(steps[0][1]):
        taken.append(steps.pop(0))
    return taken


def _take_corpus(steps: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Take the corpus steps from the front that can have their keys from one pass: what is cut must be cut first."""
    taken = _take(steps, lambda step: isinstance(step, CorpusStep))
    for i, (_, step) in enumerate(taken, 1):
        if getattr(step, "cuts", False):
            steps[:0] = taken[i:]
            return taken[:i]
    return taken


def _first_units(readers: Sequence[Any], inputs: Sequence[Sequence[FileInfo]], target: int) -> list[Unit]:
    """Pieces of the inputs, in order, as many to a unit as make `target` bytes."""
    pairs = zip(readers, inputs)
    return grouped([(i, p) for i, (reader, files) in enumerate(pairs) for p in reader.split(files, target)], target)


def grouped(pieces: Iterable[tuple[int, Any]], target: int) -> list[Unit]:
    """Units of the first pass, of up to `target` bytes, of pieces with the number of their source."""
    units: list[Unit] = []
    waiting: list[tuple[int, Any]] = []
    size = 0
    for index, piece in pieces:
        if waiting and size + piece.size > target:
            units.append(Unit(len(units), tuple(waiting)))
            waiting, size = [], 0
        waiting.append((index, piece))
        size += piece.size
    units.append(Unit(len(units), tuple(waiting)))
    return units


def _later_units(done: Committed, before: str, verdicts: tuple[str, ...]) -> list[Unit]:
    """Each file of documents with the verdicts on them: of a stage of one unit, or of the unit of the same number."""
    base = bases(done[before], "docs")
    units = []
    for i, commit in enumerate(done[before]):
        outputs = [done[stage][i if len(done[stage]) > 1 else 0].outputs for stage in verdicts]
        files = tuple((found["verdicts"].path, found["cuts"].path if "cuts" in found else None) for found in outputs)
        units.append(Unit(i, (commit.outputs["docs"].path, int(base[i]), files)))
    return units


def _document_units(done: Committed, last: str) -> list[Unit]:
    """Each file of documents, with their signals."""
    return [Unit(i, (c.outputs["docs"].path, c.outputs["signals"].path)) for i, c in enumerate(done[last])]


def _text_units(writer: DocumentWriter, last: str, done: Committed, root: Path) -> list[Unit]:
    units = [(commit.outputs["docs"].path, commit.outputs["signals"].path) for commit in done[last]]
    return [Unit(number, tuple(map(tuple, parts))) for number, parts in enumerate(text_files(writer, units, root))]


def _shard_units(work: WriteTokens, done: Committed, root: Path) -> list[Unit]:
    return work.units([*done["tokens"], *done.get(EPOCHS, [])], root)


def _repeat_units(last: str, verdicts: str, done: Committed, root: Path) -> list[Unit]:
    """For each time that any document comes again: each file of documents, with their signals and tokens."""
    times = range(1, done[verdicts][0].facts["epochs"])
    files = [(unit.inputs, commit) for unit, commit in zip(_document_units(done, last), done["tokens"])]
    again = [(*inputs, commit.outputs["tokens"].path, time) for time in times for inputs, commit in files]
    return [Unit(number, inputs) for number, inputs in enumerate(again)]


def _row_units(work: PackRows, last: str, done: Committed, root: Path) -> list[Unit]:
    again = done.get(EPOCHS, [])
    return work.units([*done[last], *again], [*done["tokens"], *again], root)


def _inputs_print(recipe: Recipe, inputs: Sequence[Sequence[FileInfo]]) -> str:
    """What the first pass depends on beside its steps: sources, files as they are, how they are cut, the seed."""
    sources = [
        [source.source, describe(source.reader), [[f.path, f.name, f.size, f.fingerprint] for f in files]]
        for source, files in zip(recipe.read, inputs)
    ]
    return _print(sources, recipe.run.unit_mb, recipe.seed)


def _print(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@cache
def code() -> str:
    """SHA-256 of the code that every pass runs: engine, readers, measures, kernels, models, writers.

    The code of a step itself is part of the step's own description.
    """
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    shared = [package / name for name in ("measures.py", "tables.py", "units.py", "keys.py", "schema.py")]
    shared += [package / "steps" / "verdict.py", *package.glob("steps/*/_*.py")]
    folders = ("text", "tokens", "models", "read", "recipe", "shards", "write")
    for path in sorted([*shared, *(path for folder in folders for path in package.glob(f"{folder}/**/*.py"))]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
