"""What a run will take: time, memory and disk, from the same work on a sample of its input."""

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from corpusmill.engine.carry_out import ProgressListener, Silent, carry_out
from corpusmill.engine.inputs import SourceFiles, grouped, planned, split, suffix, unit_bytes
from corpusmill.engine.lower import lower
from corpusmill.engine.plan import Plan
from corpusmill.execute.serial import Serial
from corpusmill.read import Piece
from corpusmill.recipe.model import Recipe
from corpusmill.report.waterfall import Waterfall, special_tokens_per_document, waterfall
from corpusmill.run_folder import RunFolder
from corpusmill.runs import warm_kernels
from corpusmill.steps import ScalesToSample
from corpusmill.storage import is_local
from corpusmill.units import Planned, Results

PIECES = 16  # of a source that the sample is taken from, where its files can be cut
LEAST = 16_000_000  # bytes of a sample: of 1 MB, what every stage costs by itself is three quarters of the time
SMALLEST = 1 << 18  # bytes of a piece: with smaller ones the work around them is measured


@dataclass(frozen=True)
class StageCost:
    """A stage, as much of it as all of the input will make."""

    stage: str
    seconds: float  # of one worker
    bytes: int  # that it leaves on disk


@dataclass(frozen=True)
class SourceYield:
    """What all of a source will give.

    bytes, sample_bytes   of its files, and of the parts of them that were read
    documents, tokens     that are kept, EOS counted as a token; no tokens without a tokenizer. Of a recipe
                          with a mix, those that come to it
    share                 of the recipe's mix, None without one
    """

    source: str
    bytes: int
    sample_bytes: int
    documents: int
    tokens: int
    share: float | None


@dataclass(frozen=True)
class Estimate:
    """What a run on all of the input will take, if all of it is like the sample.

    bytes, sample_bytes   of the input, and of what of it was read
    stages                what each stage takes
    memory                peak bytes of one worker in the sample. Where the sample is smaller than a unit, a worker will
                          hold more
    """

    bytes: int
    sample_bytes: int
    stages: tuple[StageCost, ...]
    sources: tuple[SourceYield, ...]
    memory: int

    @property
    def seconds(self) -> float:
        """Seconds of one worker."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def disk(self) -> int:
        return sum(stage.bytes for stage in self.stages)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "seconds": self.seconds, "disk": self.disk}


def estimate(
    recipe: Recipe, share: float = 0.01, listener: ProgressListener | None = None, least: int = LEAST
) -> Estimate:
    """Carry a recipe out on a share of its input, and say what all of it would take.

    share     of the bytes of each source, above 0 and up to 1. It is taken from places all over the files; of files
              that cannot be cut, such as gzip of JSON lines, whole ones are taken, and one at least
    least     bytes of the input that are taken in any case, as far as there are so many

    Time and disk are taken to grow with the bytes of input. Deduplication finds fewer duplicates in a sample, so what
    follows it is rather overstated. The sample is worked on by one process, in a temporary folder beside the run's. The
    recipe's own `run.limit` and `run.sample` are left out.
    """
    recipe = replace(recipe, run=replace(recipe.run, limit=None, sample=None))
    inputs = lower(recipe).inputs
    sizes = [source.size for source in inputs]
    share = min(1.0, max(share, least / sum(sizes)))
    taken = [sample(reading.reader, source, share) for reading, source in zip(recipe.read, inputs)]
    read = [sum(piece.size for piece in pieces) for pieces in taken]
    part = sum(read) / sum(sizes)  # more than the share where files cannot be cut
    steps = [step.for_sample(part) if isinstance(step, ScalesToSample) else step for step in recipe.steps]
    plan = lower(replace(recipe, steps=steps, run=replace(recipe.run, error_budget=1.0)))
    pieces = [
        (index, piece, inputs[index].expands[suffix(piece.file.name)])
        for index, some in enumerate(taken)
        for piece in some
    ]
    groups = grouped(pieces, unit_bytes(inputs, recipe.run.unit_mb))
    sampled = reading_only(plan, [planned(recipe.read, group) for group in groups])
    warm_kernels(listener or Silent())
    plan.check()
    name = Path(recipe.folder).name
    beside = Path(recipe.folder).parent if is_local(recipe.folder) else Path(tempfile.gettempdir())
    beside.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-sample-", dir=beside) as folder:
        # The first pass over a small piece, for nothing: what a worker loads and sets up once must not be scaled.
        smallest = min(((index, piece) for index, piece, _ in pieces if piece.size), key=lambda pair: pair[1].size)
        once = reading_only(plan, [planned(recipe.read, [smallest])])
        executor = Serial(attempts=1)
        carry_out(_made(folder, "once"), replace(once, stages=once.stages[:1]), executor, Silent())
        results = carry_out(_made(folder, "sample"), sampled, executor, listener or Silent()).results
        flow = waterfall(sampled, results)
        memory = peak()
    sources = []
    for source, size, bytes_read in zip(recipe.read, sizes, read):
        documents, tokens, mixed = kept(source.source, flow, results)
        scale = size / max(bytes_read, 1)
        sources.append(
            SourceYield(source.source, size, bytes_read, round(documents * scale), round(tokens * scale), mixed)
        )
    costs = tuple(cost(results[stage.name], 1 / part) for stage in plan.stages)
    return Estimate(sum(sizes), sum(read), costs, tuple(sources), memory)


def _made(folder: str, name: str) -> RunFolder:
    run = RunFolder(str(Path(folder) / name))
    run.make()
    return run


def reading_only(plan: Plan, units: list[Planned]) -> Plan:
    """The plan with these units of input."""
    first, *others = plan.stages
    return replace(plan, stages=(replace(first, units=lambda upstream: units), *others))


def sample(reader: Any, source: SourceFiles, share: float) -> list[Piece]:
    """Pieces of a source, evenly spread, which make up about this share of it; one at least."""
    pieces = list(split(reader, source, max(SMALLEST, int(source.text_size * share / PIECES))))
    count = min(max(1, round(len(pieces) * share)), len(pieces))
    return [pieces[(2 * i + 1) * len(pieces) // (2 * count)] for i in range(count)]


def kept(source: str, flow: Waterfall, results: Mapping[str, Results]) -> tuple[int, int, float | None]:
    """Documents and tokens of a source that are kept, or are the input of a mix; its share in that."""
    for stage in results.values():
        if "mix" in stage.facts and stage.notes["unit"][0] == "tokens":
            drawn = stage.facts["mix"][source]
            return drawn["documents"], drawn["there"], drawn["share"]
    if not flow.rows:
        return flow.read[source]["documents"], 0, None
    last = flow.rows[-1].sources.get(source, {"documents_out": 0, "tokens_out": 0})
    documents, tokens = last["documents_out"], last["tokens_out"]
    tokenized = results["tokens"].facts if "tokens" in results else {}
    special = special_tokens_per_document(tokenized, flow.rows[-1])
    return documents, tokens + special * documents if tokens else 0, None


def cost(results: Results, factor: float) -> StageCost:
    return StageCost(results.stage, float(results.seconds.sum()) * factor, round(results.bytes * factor))


def peak() -> int:
    """The most bytes that this process has held; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else held * 1024
