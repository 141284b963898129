"""Drawing documents of sources by the order of a hash, however many there are.

ranks     a unit is some neighbouring units of the pass: the documents of each source, sorted
draw      one unit: goes through each source in order, a part at a time, and says where the draw ends
verdicts  a unit is some neighbouring units of the pass: what of this is about their documents
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.steps.corpus import Everything, after, digest, is_present, key_files, keys_content, pass_units
from corpusmill.steps.keys import VERDICT, Keys, KeyStage
from corpusmill.steps.ranks import END, RankLine
from corpusmill.steps.verdict_tables import UnitRange, VerdictWriter
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.work import PlannedUnit, Stage
from corpusmill.tokens.budget import amount
from corpusmill.tokens.mixing import Quota, fitting
from corpusmill.tokens.sampling import sampling_hash

Measure = Literal["tokens", "bytes", "documents"]
DOWN_SAMPLED = "down_sampled"
MAX_DRAWN = 1 << 20  # documents of a source that are gone through at a time
COPIES = pa.schema([*VERDICT, ("copies", pa.int64())])


def code(source: str) -> int:
    """A source in the arrays of keys."""
    return xxhash.xxh3_64_intdigest(source.encode("utf-8", "surrogateescape"))


def draw_stages(
    keys: KeyStage, unit: Measure, plan: Callable[[Mapping[str, Mapping[str, int]]], tuple[Quota, ...]]
) -> list[Stage]:
    """
    plan   what each source is to give, of how many `documents` it has and their `size`
    """
    count, ranks, draw = (f"{keys.label}-{name}" for name in ("count", "ranks", "draw"))
    special = keys.special_tokens_per_document if unit == "tokens" else 0

    def counted(upstream: Upstream) -> list[PlannedUnit]:
        return [PlannedUnit(Everything(), keys_content(keys, upstream))]

    def drawn(upstream: Upstream) -> list[PlannedUnit]:
        totals = upstream.results(count).facts["totals"]
        quotas = plan({source: totals[source] for source in keys.sources})
        return [PlannedUnit(Quotas(quotas), (digest(upstream.results(ranks)["ranks"]), repr(quotas)))]

    judge = SourceVerdicts(keys, unit, draw)
    return [
        Stage(count, CountSources(keys, special), after(keys), counted),
        Stage(ranks, RankSources(keys, special), after(keys), pass_units(keys)),
        Stage(draw, DrawSources(keys.label, keys.sources, unit, ranks), (count, ranks), drawn),
        Stage(f"{keys.label}-verdicts", judge, after(keys, draw), pass_units(keys, (draw, "drawn"))),
    ]


def draw_keys(docs: pa.RecordBatch, unit: Measure, seed: int, codes: NDArray[np.uint64]) -> Keys:
    """`size`, `luck` and `source` (documents,), the code of each document's source."""
    if unit == "tokens":
        size = docs["tokens"]  # those around its text are added where it is known how many they are
    elif unit == "bytes":
        size = pc.max_element_wise(pc.binary_length(docs["text"]), 1)  # so that the empty one is something, too
    else:
        size = pa.array(np.ones(len(docs), np.int64))
    arrays = {
        "size": size.to_numpy(zero_copy_only=False).astype(np.int64),
        "luck": sampling_hash(docs["id"], seed, "mix"),
        "source": codes,
    }
    return Keys(np.empty((len(docs), 0), np.uint64), arrays)


def check_draw(unit: str, budget: float | str | None) -> None:
    """Raises RecipeError for another unit, or a budget that is none."""
    if unit not in get_args(Measure):
        raise RecipeError(f'unit is "tokens", "bytes" or "documents", got "{unit}"')
    try:
        amount(1 if budget is None else budget)
    except ValueError as error:
        raise RecipeError(f"budget: {error}") from None


def missing_tokenizer(unit: Measure, tokenizer: bool) -> str | None:
    """What keeps a mix that counts in this unit from work in a recipe with a tokenizer, or without one."""
    if unit != "tokens" or tokenizer:
        return None
    return "counts tokens, and no step makes them; add tokenize/bpe below it, or count in bytes: {unit: bytes}"


def unknown_source(names: Iterable[str], sources: tuple[str, ...]) -> str | None:
    """What is wrong with the first of the names that is not one of the recipe's sources."""
    for name in names:
        if name not in sources:
            hint = did_you_mean(name, sources) or "."
            return f'names "{name}", and no source is called that{hint} The recipe reads: {", ".join(sources)}'
    return None


@dataclass(frozen=True)
class CountSources:
    """How much there is of each source; `special` tokens are added to the size of each document."""

    keys: KeyStage
    special: int

    def run(self, inputs: Everything, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        totals = {source: {"documents": 0, "size": 0} for source in self.keys.sources}
        total = 0
        for number, path in enumerate(files.keys):
            arrays = io.arrays(path)
            present = is_present(files, io, number)
            total += int(present.sum())
            for source, counts in totals.items():
                own = present & (arrays["source"] == np.uint64(code(source)))
                counts["documents"] += int(own.sum())
                counts["size"] += int(arrays["size"][own].sum()) + self.special * int(own.sum())
        if total != sum(counts["documents"] for counts in totals.values()):
            raise RecipeError(
                f"a step has changed the source of documents: a mix knows those that the recipe reads, "
                f"{', '.join(self.keys.sources)}"
            )
        io.facts["totals"] = totals


@dataclass(frozen=True)
class RankSources:
    """Some neighbouring units: `luck`, `documents` and `size`, source by source in the order of the recipe, in the
    order in which they are drawn; `starts` (sources + 1,) where each begins; `least` (sources,) the smallest size."""

    keys: KeyStage
    special: int

    def run(self, inputs: UnitRange, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        codes = [np.uint64(code(source)) for source in self.keys.sources]
        parts: list[list[tuple[NDArray[Any], ...]]] = [
            [(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))] for _ in codes
        ]
        for number in files.own_files(inputs):
            arrays = io.arrays(files.keys[number])
            present = is_present(files, io, number)
            for part, source in zip(parts, codes):
                rows = np.flatnonzero(present & (arrays["source"] == source))
                part.append((arrays["luck"][rows], rows + files.starts[number], arrays["size"][rows] + self.special))
        columns, smallest = [], []
        for part in parts:
            luck, documents, size = (np.concatenate(column) for column in zip(*part))
            # Documents with the same id have the same hash: the earlier is drawn first.
            order = np.argsort(luck, kind="stable")
            columns.append((luck[order], documents[order], size[order]))
            smallest.append(int(size.min(initial=np.iinfo(np.int64).max)))
        luck, documents, size = (np.concatenate(column) for column in zip(*columns))
        starts = np.cumsum([0, *(len(column[0]) for column in columns)])
        ranks = {"luck": luck, "documents": documents, "size": size, "starts": starts, "least": np.array(smallest)}
        io.write_arrays("ranks", len(luck), **ranks)


@dataclass(frozen=True)
class Quotas:
    """What each source is to give."""

    quotas: tuple[Quota, ...]


@dataclass(frozen=True)
class DrawSources:
    """The output `drawn` says of each source, in the order of the recipe: `full` (sources,) how often all of its
    documents are drawn; `luck` and `document` (sources,) the place in the order before which all are drawn once more;
    `more` the documents behind it that are, those of a source from `starts` (sources + 1,) on."""

    label: str
    sources: tuple[str, ...]
    measure: Measure
    ranks: str

    def describe_plan(self, inputs: Sequence[Any]) -> list[str]:
        """The plan, for people."""
        (planned,) = inputs
        quotas: tuple[Quota, ...] = planned.quotas
        total = sum(quota.wanted for quota in quotas)
        width = max((len(quota.source) for quota in quotas), default=0)
        return [f"{self.label}: {total:,} {self.measure} are to be drawn"] + [
            f"  {quota.source:<{width}}  {quota.share:7.2%}  {quota.wanted:,} of {quota.there:,}: "
            f"{quota.epochs:.2f} epochs"
            for quota in quotas
        ]

    def run(self, inputs: Quotas, io: UnitIO) -> None:
        paths = io.results(self.ranks)["ranks"].paths.to_pylist()
        quotas = {quota.source: quota for quota in inputs.quotas}
        full, lines, extra = [], [], []
        mix: dict[str, dict[str, float]] = {}
        epochs = 1
        for number, source in enumerate(self.sources):
            if source not in quotas:
                full.append(1)  # as often as it is there
                lines.append(RankLine(0, 0))
                extra.append(np.empty(0, np.int64))
                continue
            quota = quotas[source]
            times, remaining = divmod(quota.wanted, max(quota.there, 1))
            drawn = draw_once_more(io, paths, number, quota.documents, remaining)
            full.append(times)
            lines.append(drawn.line)
            extra.append(drawn.documents)
            if quota.documents:
                epochs = max(epochs, times + (drawn.count > 0))
            mix[source] = summary(quota, times, drawn)
        io.facts["mix"] = mix
        io.notes |= {"unit": self.measure, "epochs": epochs}
        io.write_arrays(
            "drawn",
            0,
            full=np.array(full, np.int64),
            luck=np.array([line.key for line in lines], np.uint64),
            document=np.array([line.document for line in lines], np.int64),
            more=np.concatenate([np.empty(0, np.int64), *extra]),
            starts=np.cumsum([0, *map(len, extra)]),
        )


@dataclass(frozen=True)
class DrawnDocuments:
    """Documents of a source that are drawn once more: those before a line, and a few behind it; how many they are, and
    their size."""

    line: RankLine
    documents: NDArray[np.int64]
    count: int
    size: int


def draw_once_more(io: UnitIO, paths: Sequence[str], source: int, documents: int, limit: int) -> DrawnDocuments:
    """Draws each document of a source in turn that fits, with those before it, into a size of `limit`."""
    line, behind = END, [np.empty(0, np.int64)]
    count, size = 0, 0
    smallest = min((int(io.arrays(path)["least"][source]) for path in paths), default=0)
    for luck, numbers, sizes in in_order(io, paths, source, documents):
        if not len(luck):
            continue
        if limit - size < smallest:
            if line == END:
                line = RankLine(int(luck[0]), int(numbers[0]))
            break
        fits = fitting(sizes, limit - size)
        count += int(fits.sum())
        size += int(sizes[fits].sum())
        if line == END and not fits.all():
            first = int(np.argmin(fits))
            line = RankLine(int(luck[first]), int(numbers[first]))
            fits[:first] = False
        if line != END:
            behind.append(numbers[fits])
    return DrawnDocuments(line, np.sort(np.concatenate(behind)), count, size)


def in_order(
    io: UnitIO, paths: Sequence[str], source: int, documents: int
) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]]:
    """`luck`, `documents` and `size` of all documents of a source in order, about MAX_DRAWN at a time: hashes
    are evenly distributed."""
    rounds = documents // MAX_DRAWN + 1
    begins = [0] * len(paths)
    for k in range(1, rounds + 1):
        parts: list[tuple[NDArray[Any], ...]] = [(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))]
        for i, path in enumerate(paths):
            arrays = io.arrays(path)
            start, end = arrays["starts"][source : source + 2].tolist()
            luck = arrays["luck"][start:end]
            stop = len(luck) if k == rounds else int(np.searchsorted(luck, np.uint64((k << 64) // rounds)))
            rows = slice(start + begins[i], start + stop)
            parts.append(tuple(arrays[name][rows].copy() for name in ("luck", "documents", "size")))
            begins[i] = stop
        luck, numbers, size = (np.concatenate(column) for column in zip(*parts))
        order = np.lexsort((numbers, luck))
        yield luck[order], numbers[order], size[order]


def summary(quota: Quota, times: int, drawn: DrawnDocuments) -> dict[str, float]:
    """What was planned for a source, and what was drawn."""
    return {
        "documents": quota.documents,
        "there": quota.there,
        "share": quota.share,
        "wanted": quota.wanted,
        "drawn": times * quota.there + drawn.size,
        "drawn_documents": quota.documents if times else drawn.count,
        "appearances": times * quota.documents + drawn.count,
    }


@dataclass(frozen=True)
class SourceVerdicts:
    keys: KeyStage
    measure: Measure
    draw: str

    def run(self, inputs: UnitRange, io: UnitIO) -> None:
        files = key_files(self.keys, io)
        results = io.results(self.draw)
        drawn = io.arrays(results["drawn"].path(0))
        verdicts = files.verdict_writer(inputs, io, COPIES)
        for number in files.own_files(inputs):
            arrays = io.arrays(files.keys[number])
            documents = np.arange(len(arrays["luck"])) + files.starts[number]
            times = np.ones(len(documents), np.int64)
            for i, source in enumerate(self.keys.sources):
                rows = np.flatnonzero(arrays["source"] == np.uint64(code(source)))
                line = RankLine(int(drawn["luck"][i]), int(drawn["document"][i]))
                behind = drawn["more"][slice(*drawn["starts"][i : i + 2].tolist())]
                once_more = line.before(arrays["luck"][rows], documents[rows]) | np.isin(documents[rows], behind)
                times[rows] = drawn["full"][i] + once_more
            times[~is_present(files, io, number)] = 1
            write_copies(verdicts, files.starts[number], times)
        verdicts.close()
        io.notes |= {"unit": self.measure, "epochs": int(results.numbers("epochs")[0])}


def write_copies(verdicts: VerdictWriter, start: int, copies: NDArray[np.int64]) -> None:
    """The verdicts on the documents of a file, by how often each is drawn, where that is not once."""
    rows = np.flatnonzero(copies != 1)
    reasons = pc.if_else(pa.array(copies[rows] == 0), DOWN_SAMPLED, pa.scalar(None, pa.string()))
    verdicts.write(rows + start, [reasons, pa.array(copies[rows])])
