"""What a run will take: time, memory and disk, from the same work on a sample of its input."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill import system
from corpusmill.engine.drive.carry_out import carry_out
from corpusmill.engine.drive.listener import ProgressListener, Silent
from corpusmill.engine.drive.session import Session
from corpusmill.engine.plan.forecast import DRIVER
from corpusmill.engine.plan.inputs import SourceFiles, grouped, plan_inputs, planned, split, suffix, unit_bytes
from corpusmill.engine.plan.lower import lower
from corpusmill.engine.plan.plan import Publisher, RunPlan
from corpusmill.engine.work.documents import WriteDocuments
from corpusmill.engine.work.dropped import BELOW
from corpusmill.engine.work.extraction import ExtractTexts
from corpusmill.engine.work.passes import Pass
from corpusmill.engine.work.split import SplitDocuments
from corpusmill.engine.work.tokens import CountTokens
from corpusmill.errors import CorpusmillError
from corpusmill.execute.serial import Serial
from corpusmill.ops.estimate import questions
from corpusmill.ops.estimate.questions import ModelCost
from corpusmill.ops.estimate.requests import MAX_SLICES, Requests, Shuffle, check_shuffles, requests, shuffles
from corpusmill.ops.estimate.sampled_copies import copies, pieces_of
from corpusmill.ops.estimate.sampled_pieces import joined, reading_groups
from corpusmill.ops.estimate.unseen import Range, both, duplicates, of_pieces
from corpusmill.ops.finish import READING_BACK, finish
from corpusmill.ops.kernels import warm_kernels
from corpusmill.read import FilePiece, LooksBack
from corpusmill.recipe.model import Recipe
from corpusmill.report.waterfall import Waterfall, special_tokens_per_document
from corpusmill.steps import MakesDocuments, ScalesToSample
from corpusmill.storage import is_local
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.unit_io import Upstream
from corpusmill.store.units import Results, now
from corpusmill.store.work import PlannedUnit, Stage

SAMPLE_PIECES = 512  # of a source that the sample is taken from, where its files can be cut
COSTLY_PIECES = 64  # where each has a price: a request of a store, or what a reader must read before it
MIN_SAMPLE_BYTES = 96_000_000  # of 20 % of a crawl of 472 MB, what is kept is known to 1 %, of 5 % to 5 %
MIN_PIECE_BYTES = 1 << 15  # bytes of a piece: with smaller ones the work around them is measured
MIN_COSTLY_PIECE_BYTES = 1 << 18
GOLDEN_RATIO = (5**0.5 - 1) / 2
MAX_PIECES = 1 << 20  # pieces that files are cut into, for some to be taken
DROPPED_OUTPUT = "dropped"  # the output of a pass
SITES_OUTPUT = "sites"  # that of a dedup, of all documents, beside what is about duplicates
START_SECONDS = 2.0  # seconds of a run until its first unit is begun, and for its report at the end
REPORT_BYTES = 100_000  # bytes of a report
RAW_DOCUMENT_BYTES = 5000  # bytes of a document with its markup, about, before any was counted
WRITER_UNIT_BYTES = 256 << 20  # bytes of a unit of a stage that is not divided as the first pass is


@dataclass(frozen=True)
class StageCost:
    """A stage, as much of it as all of the input will make.

    seconds   of one worker, all units together
    cpu       of processors
    bytes     that it leaves on disk
    units     about
    outputs   files that a unit leaves
    """

    stage: str
    seconds: float
    cpu: float
    bytes: int
    units: int
    outputs: int


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
    sources               what each source gives
    documents, tokens     of all sources, with the range that they are in nine times of ten
    copies                the share of documents that are dropped as copies of others, of those that come to a dedup
    memory                peak bytes of one worker in the sample. Where the sample is smaller than a unit, a worker will
                          hold more
    around                seconds beside the units: start, plans, reading back, report
    records               bytes on disk beside what the stages leave
    shuffles, requests    see `estimate.requests`
    models                see `estimate.questions`
    """

    bytes: int
    sample_bytes: int
    stages: tuple[StageCost, ...]
    sources: tuple[SourceYield, ...]
    documents: Range
    tokens: Range
    copies: Range
    memory: int
    around: float
    records: int
    shuffles: tuple[Shuffle, ...]
    requests: Requests
    models: tuple[ModelCost, ...] = ()

    @property
    def seconds(self) -> float:
        """Seconds of one worker, without waiting for models."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def cpu(self) -> float:
        return sum(stage.cpu for stage in self.stages)

    @property
    def disk(self) -> int:
        return sum(stage.bytes for stage in self.stages) + self.records

    def wall(self, workers: int) -> float:
        """Seconds of a run with so many workers, each of which is as fast as the one of the sample. Models answer as
        fast as one worker was answered."""
        rounds = ((stage.seconds / max(stage.units, 1), -(-stage.units // workers)) for stage in self.stages)
        models = sum(model.seconds for model in self.models)
        return self.around + models + sum(seconds * count for seconds, count in rounds)

    def all_memory(self, workers: int) -> int:
        """Bytes of all processes at the peak, shared pages counted in each: driver, fork server and workers."""
        busy = min(workers, max(stage.units for stage in self.stages))
        return 2 * DRIVER[0] + busy * self.memory

    def to_json(self) -> dict[str, Any]:
        shuffles = [{**asdict(shuffle), "slices": shuffle.slices} for shuffle in self.shuffles]
        totals = {"seconds": self.seconds, "cpu": self.cpu, "disk": self.disk, "shuffles": shuffles}
        return {**asdict(self), **totals}


def estimate(
    recipe: Recipe,
    share: float = 0.01,
    listener: ProgressListener | None = None,
    least_bytes: int = MIN_SAMPLE_BYTES,
    most_slices: int = MAX_SLICES,
    start: float = 0.5,
) -> Estimate:
    """Carry a recipe out on a share of its input, and say what all of it would take.

    share         of the bytes of each source, above 0 and up to 1. It is taken from places all over the files; of files
                  that cannot be cut, such as gzip of JSON lines, whole ones are taken, and one at least
    least_bytes   of the input that are taken in any case, as far as there are so many
    most_slices   of a shuffle
    start         from 0 to 1, where the sample begins: another one, of other documents

    What a unit takes whatever it holds is told apart from what grows with the bytes by a first run on next to nothing.
    A sample shows fewer duplicates than there are: how many more all of the input has is reckoned as `estimate.unseen`
    says. The sample is worked on by one process, in a temporary folder beside the run's. The recipe's own `run.limit`
    and `run.sample` are left out.

    Raises InputError if the shuffles of a run on all of the input are larger than `most_slices`.
    """
    recipe = replace(recipe, run=replace(recipe.run, limit=None, sample=None))
    full_plan = lower(recipe)
    inputs = full_plan.inputs
    units = sum(1 for _ in plan_inputs(recipe.read, inputs, recipe.run.unit_mb))
    text = int(sum(source.text_size for source in inputs))
    check_shuffles(shuffles(full_plan, units, text // RAW_DOCUMENT_BYTES), most_slices, recipe.run.unit_mb)
    sizes = [source.size for source in inputs]
    share = min(1.0, max(share, least_bytes / sum(sizes)))
    samples = [sample(reading.reader, source, share, start) for reading, source in zip(recipe.read, inputs)]
    read = [sum(piece.size for piece in pieces) for pieces in samples]
    part = sum(read) / sum(sizes)  # more than the share where files cannot be cut
    steps = [step.for_sample(part) if isinstance(step, ScalesToSample) else step for step in recipe.steps]
    plan = lower(replace(recipe, steps=steps, run=replace(recipe.run, error_budget=1.0)))
    pieces = [
        (index, piece, inputs[index].expands[suffix(piece.file.name)])
        for index, source_pieces in enumerate(samples)
        for piece in source_pieces
    ]
    groups = grouped(pieces, unit_bytes(inputs, recipe.run.unit_mb))
    sampled = reading_only(reading_groups(plan), [planned(recipe.read, joined(group)) for group in groups])
    warm_kernels(listener or Silent())
    plan.check()
    name = Path(recipe.folder).name
    parent = Path(recipe.folder).parent if is_local(recipe.folder) else Path(tempfile.gettempdir())
    parent.mkdir(parents=True, exist_ok=True)
    with (
        questions.trial(recipe) as asking,
        tempfile.TemporaryDirectory(prefix=f".{name}-sample-", dir=parent) as folder,
    ):
        # A small piece, twice: what a worker loads and sets up once must not be scaled, and what any unit takes not
        # with the bytes.
        smallest = min(((index, piece) for index, piece, _ in pieces if piece.size), key=lambda pair: pair[1].size)
        once = reading_only(plan, [planned(recipe.read, [smallest])])
        executor = Serial(attempts=1)
        little = asking.without_waiting(plan, _little(folder, once, executor))
        run = _new_run_folder(folder, "sample")
        began = now()
        session = Session(run, sampled, executor, listener or Silent())
        progress = carry_out(session)
        results = asking.without_waiting(plan, progress.results)
        around = now() - began - sum(float(stage.seconds.sum()) for stage in progress.results.values())
        flow = finish(replace(session, listener=Silent())).waterfall
        reading = session.clock.seconds[READING_BACK]
        memory = peak()
        files = Upstream(run, progress.where, progress.session)
        of_files = [piece for _, piece, _ in pieces]
        growth = _growth(files, sampled, part, of_files)
        documents_of, tokens_of = _amounts(files, sampled, of_files)
        fixed = {stage.name: _texts(files, sampled, stage.name) for stage in sampled.stages}
        records = _bytes_below(Path(run.place)) - _published(sampled, run)
        records -= sum(stage.bytes for stage in results.values())
    writers = {stage.name for stage in _writers(plan)}
    sources = []
    for source, size, bytes_read in zip(recipe.read, sizes, read):
        documents, tokens, mixed = source_amounts(source.source, flow, results)
        scale = size / max(bytes_read, 1)
        documents, tokens = round(documents * scale * growth.kept.value), round(tokens * scale * growth.text.value)
        sources.append(SourceYield(source.source, size, bytes_read, documents, tokens, mixed))
    for name in dict.fromkeys(step.source for step in recipe.steps if isinstance(step, MakesDocuments)):
        documents, tokens, mixed = source_amounts(name, flow, results)
        documents, tokens = round(documents / part * growth.kept.value), round(tokens / part * growth.text.value)
        sources.append(SourceYield(name, 0, 0, documents, tokens, mixed))
    all_documents = _in_range(sum(source.documents for source in sources), documents_of, part, growth.kept)
    all_tokens = _in_range(sum(source.tokens for source in sources), tokens_of, part, growth.text)
    groups_of = shuffles(full_plan, units, round(flow.documents_in / part))
    grouping = {f"{shuffle.step}-{part_of}": shuffle.units for shuffle in groups_of for part_of in ("shared", "group")}
    grouping |= {f"{shuffle.step}-sketches": shuffle.sketches for shuffle in groups_of}
    costs = []
    for stage in plan.stages:
        stage_results, grows = results[stage.name], growth.factor(stage.name)
        count = units if _by_unit(stage) else grouping.get(stage.name, 1)
        if stage.name in writers and not _by_unit(stage):
            count = max(len(stage_results), round(stage_results.bytes / part * grows / WRITER_UNIT_BYTES))
        by_time = growth.time_factor(stage.name)
        costs.append(cost(stage_results, little.get(stage.name), 1 / part, count, grows, by_time, fixed[stage.name]))
    by_stage = {stage_cost.stage: (stage_cost.units, stage_cost.outputs, stage_cost.bytes) for stage_cost in costs}
    output_bytes = sum(by_stage[name][2] for name in by_stage if name in writers)
    return Estimate(
        sum(sizes),
        sum(read),
        tuple(costs),
        tuple(sources),
        all_documents.rounded(),
        all_tokens.rounded(),
        growth.copies,
        memory,
        START_SECONDS + around + reading / part * growth.kept.value,
        max(records, 0) + REPORT_BYTES,
        tuple(groups_of),
        requests(by_stage, groups_of, sum(sizes), output_bytes),
        asking.costs(plan, part, growth.factor),
    )


@dataclass(frozen=True)
class Growth:
    """What of all of the input is otherwise than in the sample, because more duplicates meet.

    kept         documents that are kept, of as many as in the sample
    text         tokens of them; as documents without a tokenizer
    copies       the share of documents that are dropped as copies
    duplicates   of as many documents
    stages       those that carry what is left
    about        those that carry what is dropped
    """

    kept: Range
    text: Range
    copies: Range
    duplicates: float
    stages: frozenset[str]
    about: frozenset[str]

    def factor(self, stage: str) -> float:
        """Factor on the bytes of a stage. A duplicate of the sample is mostly one of a pair; of all of the input some
        are in larger clusters, which have between one and two documents for each duplicate: so three quarters."""
        if stage in self.about:
            return max(1.0, 0.75 * self.duplicates)
        return self.text.value if stage in self.stages else 1.0

    def time_factor(self, stage: str) -> float:
        """On its seconds: what is about duplicates takes most of its time for reading what all documents have."""
        return 1.0 if stage in self.about else self.factor(stage)


def _judges_duplicates(work: Any) -> bool:
    return isinstance(work, Pass) and any("duplicate_of" in judge.step.verdict.names for judge in work.chain.judged)


def _growth(files: Upstream, plan: RunPlan, part: float, pieces: Sequence[FilePiece]) -> Growth:
    documents = text = Range(1.0, 1.0, 1.0)
    copied, duplicates_factor = Range(0.0, 0.0, 0.0), 1.0
    after: set[str] = set()
    about: set[str] = set()
    for stage in plan.stages:
        work: Any = stage.work
        if _judges_duplicates(work):
            parts = ("sketches", "shingles", "verdicts")
            about |= {f"{judge.label}-{part_of}" for judge in work.chain.judged for part_of in parts}
            after.add(stage.name)
            sampled = copies(files, work.source.stage, work.chain.judged, pieces)
            if not sampled.documents:
                continue
            across = duplicates(sampled.cluster_sizes, part)
            singles = 1 - sampled.local / sampled.documents  # of documents, once copies in the same piece are left out
            share = Range(*(1 - singles * (1 - value) for value in (across.value, across.low, across.high)))
            documents = _times(documents, share, sampled.dropped / sampled.documents)
            has_tokens = sampled.length is not None and sampled.dropped_tokens is not None and part < 1
            text = _times(text, share * (sampled.length or 1), sampled.dropped_tokens or 0) if has_tokens else documents
            copied = share
            duplicates_factor = share.value * sampled.documents / sampled.dropped if sampled.dropped else 1.0
        elif after and stage.name not in about:
            after.add(stage.name)
    return Growth(documents, text, copied, duplicates_factor, frozenset(after), frozenset(about))


def _times(before: Range, dropped: Range, in_sample: float) -> Range:
    """What is kept once a share is dropped, of which the sample shows the part `in_sample`."""
    factors = [max(1 - share, 0.0) / (1 - in_sample) for share in (dropped.value, dropped.high, dropped.low)]
    return Range(before.value * factors[0], before.low * factors[1], before.high * factors[2])


def _in_range(value: float, of_each: Sequence[float], part: float, growth: Range) -> Range:
    middle = growth.value or 1.0
    low, high = both(of_pieces(of_each, part), (growth.low / middle, growth.high / middle))
    return Range(value, value * low, value * high)


def _amounts(files: Upstream, plan: RunPlan, pieces: Sequence[FilePiece]) -> tuple[list[float], list[float]]:
    """Kept documents of each piece, and their tokens."""
    docs = files.results(plan.passes[-1].stage)["docs"]
    columns = ["file", "position", "tokens"]
    table = pa.concat_tables([files.table(docs.path(unit), columns) for unit in range(len(docs))])
    names = table["file"].cast(pa.string()).combine_chunks()
    piece = pieces_of(names, table["position"].to_numpy(), pieces)
    tokens = pc.fill_null(table["tokens"], 0).to_numpy().astype(np.float64)
    many = len(pieces)
    return np.bincount(piece, minlength=many).tolist(), np.bincount(piece, tokens, minlength=many).tolist()


def _texts(files: Upstream, plan: RunPlan, stage: str) -> float:
    """Bytes of texts that the units of a pass keep of dropped documents, where each keeps about as many as any would:
    those that had to choose."""
    results = files.results(stage)
    if BELOW not in results.notes or DROPPED_OUTPUT not in results.outputs:
        return 0.0
    total = 0
    for unit, below in enumerate(results.notes[BELOW]):
        if below:
            about = files.parquet(results[DROPPED_OUTPUT].path(unit)).metadata
            groups = [about.row_group(number) for number in range(about.num_row_groups)]
            columns = [group.column(at) for group in groups for at in range(group.num_columns)]
            total += sum(column.total_compressed_size for column in columns if column.path_in_schema == "text")
    return float(total)


def _little(folder: str, once: RunPlan, executor: Serial) -> dict[str, Results]:
    """The stages on next to nothing; those that it comes to, for some cannot do without more."""
    try:
        carry_out(Session(_new_run_folder(folder, "once"), replace(once, stages=once.stages[:1]), executor, Silent()))
        return carry_out(Session(_new_run_folder(folder, "little"), once, executor, Silent())).results
    except CorpusmillError:
        return {}


def _by_unit(stage: Stage) -> bool:
    """Whether a stage has a unit for each one of the first pass."""
    return isinstance(
        stage.work, ExtractTexts | Pass | SplitDocuments | WriteDocuments | CountTokens
    ) or stage.name.endswith("-shingles")


def _writers(plan: RunPlan) -> list[Stage]:
    return [stage for stage in plan.stages if isinstance(stage.work, Publisher)]


def _published(plan: RunPlan, run: RunFolder) -> int:
    """Bytes of files that are under two names, or were written for others."""
    return sum(_bytes_below(Path(run.output(stage.name))) for stage in _writers(plan))


def _bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _new_run_folder(folder: str, name: str) -> RunFolder:
    run = RunFolder(str(Path(folder) / name))
    run.make()
    return run


def reading_only(plan: RunPlan, units: list[PlannedUnit]) -> RunPlan:
    """The plan with these units of input."""
    first, *others = plan.stages
    return replace(plan, stages=(replace(first, units=lambda upstream: units), *others))


def sample(reader: Any, source: SourceFiles, share: float, start: float = 0.5) -> list[FilePiece]:
    """Pieces of a source, evenly spread, which make up about this share of it; one at least.

    Of each of so many equal stretches of the source one is taken, at a place that differs from stretch to stretch: with
    the same place in each, the same places of files of equal size would be taken, and files are often alike. The places
    are multiples of the golden ratio, which are evenly spread however many neighbours are looked at.
    """
    has_price = isinstance(reader, LooksBack) or not all(is_local(file.path) for file in source.files)
    many, smallest = (COSTLY_PIECES, MIN_COSTLY_PIECE_BYTES) if has_price else (SAMPLE_PIECES, MIN_PIECE_BYTES)
    size = max(smallest, int(source.text_size * share / many), int(source.text_size / MAX_PIECES))
    pieces = list(split(reader, source, size))
    count = min(max(1, round(len(pieces) * share)), len(pieces))
    edges = np.arange(count + 1) * len(pieces) // count
    places = (start + np.arange(count) * GOLDEN_RATIO) % 1.0
    return [pieces[at] for at in edges[:-1] + (places * np.diff(edges)).astype(np.int64)]


def source_amounts(source: str, flow: Waterfall, results: Mapping[str, Results]) -> tuple[int, int, float | None]:
    """Documents and tokens of a source that are kept, or are the input of a mix; its share in that."""
    for stage in results.values():
        if source in stage.facts.get("mix", ()) and stage.notes["unit"][0] == "tokens":
            drawn = stage.facts["mix"][source]
            return drawn["documents"], drawn["there"], drawn["share"]
    if not flow.rows:
        return flow.read[source]["documents"], 0, None
    last = flow.rows[-1].sources.get(source, {"documents_out": 0, "tokens_out": 0})
    documents, tokens = last["documents_out"], last["tokens_out"]
    tokenized = results["tokens"].facts if "tokens" in results else {}
    special = special_tokens_per_document(tokenized, flow.rows[-1])
    return documents, tokens + special * documents if tokens else 0, None


def cost(
    results: Results,
    little: Results | None,
    factor: float,
    units: int,
    growth: float,
    growth_of_time: float,
    texts: float = 0.0,
) -> StageCost:
    """What a stage takes of all of the input.

    little    the stage on next to nothing
    factor    how many times the sample all of it is
    units     of the stage
    growth    how much more or less it leaves for a byte of input than in the sample; `growth_of_time`: and takes
    texts     bytes of what it left, of which a unit leaves as much whatever it holds
    """
    many, took = len(results), float(results.seconds.sum())
    used = float(np.nansum(results.cpu))
    base = little if little is not None and len(little) and many else None
    unit_seconds = min(float(base.seconds.mean()), took / many) if base is not None else 0.0
    unit_cpu = min(float(np.nanmean(base.cpu)), used / many) if base is not None and unit_seconds else 0.0
    written_bytes = texts / max(many, 1) * units
    for name, files in results.outputs.items():
        size = float(files.bytes.sum()) - (texts if name == DROPPED_OUTPUT else 0.0)
        of_little = base.outputs.get(name) if base is not None else None
        fixed = min(float(of_little.bytes.mean()), size / many) if of_little is not None and len(of_little) else 0.0
        written_bytes += fixed * units + (size - fixed * many) * factor * (1.0 if name == SITES_OUTPUT else growth)
    growing = factor * growth_of_time
    seconds = unit_seconds * units + (took - unit_seconds * many) * growing
    cpu = unit_cpu * units + (used - unit_cpu * many) * growing
    return StageCost(results.stage, seconds, cpu, round(written_bytes), units, len(results.outputs))


def peak() -> int:
    """The most bytes that this process has held; 0 where the system does not say."""
    return system.peak_memory() or 0
