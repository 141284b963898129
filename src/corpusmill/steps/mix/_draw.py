"""Drawing documents of sources by the order of a hash, however many there are.

ranks     a unit is some neighbouring units of the pass: the documents of each source, sorted
draw      one unit: goes through each source in order, a part at a time, and says where the draw ends
verdicts  a unit is some neighbouring units of the pass: what of this is about their documents
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from corpusmill.steps.corpus import after, digest, dropped_documents, key_files, keys_content
from corpusmill.steps.keys import VERDICT, KeyStage
from corpusmill.steps.ranks import END, RankLine
from corpusmill.steps.verdict_tables import UnitRange, VerdictWriter, unit_ranges
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.store.work import PlannedUnit, Stage
from corpusmill.tokens.mixing import Quota, fitting

Measure = Literal["tokens", "bytes", "documents"]
DOWN_SAMPLED = "down_sampled"
TOGETHER = 1 << 20  # documents of a source that are gone through at a time
COPIES = pa.schema([*VERDICT, ("copies", pa.int64())])


def code(source: str) -> int:
    """A source in the arrays of keys."""
    return xxhash.xxh3_64_intdigest(source.encode("utf-8", "surrogateescape"))


def draw_stages(
    keys: KeyStage, measure: Measure, special: int, count: str, planned: Callable[[Upstream], tuple[Quota, ...]]
) -> list[Stage]:
    """
    special   tokens that are added to the size of each document
    count     the stage that `planned` looks at
    planned   what each source is to give
    """
    ranks, draw = f"{keys.label}-ranks", f"{keys.label}-draw"

    def ranked(upstream: Upstream) -> list[PlannedUnit]:
        content = keys_content(keys, upstream)
        return [PlannedUnit(part, (*content, repr(part))) for part in unit_ranges(keys, upstream)]

    def drawn(upstream: Upstream) -> list[PlannedUnit]:
        quotas = planned(upstream)
        return [PlannedUnit(Quotas(quotas), (digest(upstream.results(ranks)["ranks"]), repr(quotas)))]

    def judged(upstream: Upstream) -> list[PlannedUnit]:
        drawn = digest(upstream.results(draw)["drawn"])
        return [PlannedUnit(each.inputs, (*each.content, drawn)) for each in ranked(upstream)]

    return [
        Stage(ranks, RankSources(keys, special), after(keys), ranked),
        Stage(draw, DrawSources(keys.label, keys.sources, measure, ranks), (count, ranks), drawn),
        Stage(f"{keys.label}-verdicts", SourceVerdicts(keys, measure, draw), after(keys, draw), judged),
    ]


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
        for number in range(files.earlier + inputs.first, files.earlier + inputs.stop):
            arrays = io.arrays(files.keys[number])
            present = np.ones(len(arrays["size"]), bool)
            present[dropped_documents(files, io, number)] = False
            for found, source in zip(parts, codes):
                rows = np.flatnonzero(present & (arrays["source"] == source))
                found.append((arrays["luck"][rows], rows + files.starts[number], arrays["size"][rows] + self.special))
        columns, least = [], []
        for found in parts:
            luck, documents, size = (np.concatenate(column) for column in zip(*found))
            # Documents with the same id have the same hash: the earlier is drawn first.
            order = np.argsort(luck, kind="stable")
            columns.append((luck[order], documents[order], size[order]))
            least.append(int(size.min(initial=np.iinfo(np.int64).max)))
        luck, documents, size = (np.concatenate(column) for column in zip(*columns))
        starts = np.cumsum([0, *(len(column[0]) for column in columns)])
        io.write_arrays(
            "ranks", len(luck), luck=luck, documents=documents, size=size, starts=starts, least=np.array(least)
        )


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
        full, lines, more = [], [], []
        mix: dict[str, dict[str, float]] = {}
        epochs = 1
        for number, source in enumerate(self.sources):
            if source not in quotas:
                full.append(1)  # as often as it is there
                lines.append(RankLine(0, 0))
                more.append(np.empty(0, np.int64))
                continue
            quota = quotas[source]
            times, rest = divmod(quota.wanted, max(quota.there, 1))
            drawn = once_more(io, paths, number, quota.documents, rest)
            full.append(times)
            lines.append(drawn.line)
            more.append(drawn.more)
            if quota.documents:
                epochs = max(epochs, times + (drawn.documents > 0))
            mix[source] = summary(quota, times, drawn)
        io.facts["mix"] = mix
        io.notes |= {"unit": self.measure, "epochs": epochs}
        io.write_arrays(
            "drawn",
            0,
            full=np.array(full, np.int64),
            luck=np.array([line.key for line in lines], np.uint64),
            document=np.array([line.document for line in lines], np.int64),
            more=np.concatenate([np.empty(0, np.int64), *more]),
            starts=np.cumsum([0, *map(len, more)]),
        )


@dataclass(frozen=True)
class DrawnDocuments:
    """Documents of a source that are drawn once more: those before a line, and a few behind it; how many they are, and
    their size."""

    line: RankLine
    more: NDArray[np.int64]
    documents: int
    size: int


def once_more(io: UnitIO, paths: Sequence[str], source: int, documents: int, room: int) -> DrawnDocuments:
    """Draws each document of a source in turn that fits into the room that is left."""
    line, more = END, [np.empty(0, np.int64)]
    count, size = 0, 0
    least = min((int(io.arrays(path)["least"][source]) for path in paths), default=0)
    for luck, numbers, sizes in parts(io, paths, source, documents):
        if not len(luck):
            continue
        if room - size < least:
            if line == END:
                line = RankLine(int(luck[0]), int(numbers[0]))
            break
        taken = fitting(sizes, room - size)
        count += int(taken.sum())
        size += int(sizes[taken].sum())
        if line == END and not taken.all():
            first = int(np.argmin(taken))
            line = RankLine(int(luck[first]), int(numbers[first]))
            taken[:first] = False
        if line != END:
            more.append(numbers[taken])
    return DrawnDocuments(line, np.sort(np.concatenate(more)), count, size)


def parts(
    io: UnitIO, paths: Sequence[str], source: int, documents: int
) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]]:
    """`luck`, `documents` and `size` of all documents of a source in order, about TOGETHER at a time: hashes are evenly
    distributed."""
    rounds = documents // TOGETHER + 1
    begins = [0] * len(paths)
    for k in range(1, rounds + 1):
        found: list[tuple[NDArray[Any], ...]] = [(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))]
        for i, path in enumerate(paths):
            arrays = io.arrays(path)
            here = slice(*arrays["starts"][source : source + 2].tolist())
            luck = arrays["luck"][here]
            stop = len(luck) if k == rounds else int(np.searchsorted(luck, np.uint64((k << 64) // rounds)))
            some = slice(here.start + begins[i], here.start + stop)
            found.append(tuple(arrays[name][some].copy() for name in ("luck", "documents", "size")))
            begins[i] = stop
        luck, numbers, size = (np.concatenate(column) for column in zip(*found))
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
        "drawn_documents": quota.documents if times else drawn.documents,
        "appearances": times * quota.documents + drawn.documents,
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
        numbers = range(files.earlier + inputs.first, files.earlier + inputs.stop)
        verdicts = VerdictWriter(io, files.starts[numbers.start : numbers.stop + 1], COPIES)
        for number in numbers:
            arrays = io.arrays(files.keys[number])
            documents = np.arange(len(arrays["luck"])) + files.starts[number]
            times = np.ones(len(documents), np.int64)
            for place, source in enumerate(self.keys.sources):
                rows = np.flatnonzero(arrays["source"] == np.uint64(code(source)))
                line = RankLine(int(drawn["luck"][place]), int(drawn["document"][place]))
                more = drawn["more"][slice(*drawn["starts"][place : place + 2].tolist())]
                again = line.before(arrays["luck"][rows], documents[rows]) | np.isin(documents[rows], more)
                times[rows] = drawn["full"][place] + again
            times[dropped_documents(files, io, number)] = 1
            rows = np.flatnonzero(times != 1)
            reasons = pc.if_else(pa.array(times[rows] == 0), DOWN_SAMPLED, pa.scalar(None, pa.string()))
            verdicts.write(documents[rows], [reasons, pa.array(times[rows])])
        verdicts.close()
        io.notes |= {"unit": self.measure, "epochs": int(results.numbers("epochs")[0])}
