"""Near deduplication by number of documents, up to 10 million: python -m benchmarks.speed.scale

What is made, and not timed: for every unit of documents the file of keys as a pass writes it, and the table of
documents. Two corpora:

- pairs, 14 bands, sketches of 112 lanes. Every fifth document is in a pair, or is unique where a pair would have no
  partner: the second of a pair follows half a corpus behind the first and is the same text with 0, 1 or 2 of its 60
  words exchanged (similarity 1, 0.84, 0.70). Its keys are computed. The other four have keys and sketches drawn at
  random and no text.
- copies, 16 bands, sketches of 112 lanes: near copies of one page of 300 words, in each of which 3 words anywhere are
  exchanged. Two of them have a similarity of 0.82 on average, so they are in the same buckets, and whether two are
  copies is open until their n-grams are compared: the hardest case.

Timed are all stages of dedup/minhash as in every run, in a process of their own, by two workers: grouping, the
n-grams of candidates, verdicts. Not timed are the keys, which a pass makes of each document by itself. Unlike in a
crawl, texts of pairs are shorter (a document that is not a candidate is not read in a crawl either, but skipped), and
there are no large clusters; of copies there is nothing else.

With --against a run of a hundredth of so many documents is compared with so many of an earlier one, as with `against`:
a fifth of them are texts that this has. Its keys are on the disk, and not in memory.

With --scale so many documents are compared with a tenth of them. What was made of the whole is larger than memory, and
is read from the disk; of the tenth all of it would still be in memory, where it was just made. So both begin with what
is on the disk alone, and a tenth with its files in memory is measured, too.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.calibration import OF_THE_BARS, calibrate
from benchmarks.common import GIB, Figure, Watch, heading, row, table, verdict, watching
from benchmarks.speed.whole_run import wall_of
from corpusmill.engine.drive.carry_out import carry_out
from corpusmill.engine.drive.listener import Silent
from corpusmill.engine.drive.session import Session
from corpusmill.engine.plan.lower import PARTITION, partitions_for
from corpusmill.engine.plan.plan import PassInfo, RunPlan
from corpusmill.engine.work.pass_parts import KeyRequest, write_keys
from corpusmill.execute.processes import Processes
from corpusmill.ops.kernels import preloaded, warm_kernels
from corpusmill.recipe.model import Recipe
from corpusmill.schema import COUNTED
from corpusmill.steps.dedup._sketches import SKETCH_HASH
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.steps.keys import EarlierKeys, KeyFile, Keys, KeyStage
from corpusmill.store.arrays import map_arrays
from corpusmill.store.run_folder import RunFolder
from corpusmill.store.unit_io import UnitIO
from corpusmill.store.work import PlannedUnit, Stage
from corpusmill.text.sketch import LANES_OF_WORD

SIZES = (2_500_000, 5_000_000, 10_000_000)
COPIES = (250_000, 500_000, 1_000_000)
REAL = 1750  # bytes of a document that is not made, for the number of slices: as in the workload
UNIT = 75_000  # documents of a unit: 128 MiB of such
PAIRED, WORDS, LETTERS = 5, 60, 8
TOGETHER = 50  # documents of a domain
MOST_SECONDS, MOST_MEMORY = 60.0, 1.0  # s, GiB; at the largest size
MOST_AGAINST = 2.0  # GiB, with --against
MOST_GROWTH = 8.0  # bytes a document
MOST_LONGER, MOST_SCALED = 11.0, 4.0  # with --scale: times the seconds of a tenth of the documents; GiB
# Seconds between two looks at memory. Of the smallest size a stage takes 0.2 s, and its peak less than 0.1: where that
# is missed, memory seems to grow with the documents. With --scale no stage is so short, and looks that often would hold
# up what is timed: the system goes through all pages of a process, of mapped files, too.
OFTEN, SELDOM = 0.02, 0.1
BYTES = 380  # of disk for a document: keys 112, sketch 56, n-grams of candidates 150, and a little
STEP = Minhash(bands=14, rows=8)
COPIES_STEP, COPIES_WORDS, COPIES_LETTERS, EXCHANGED, COPIES_TOGETHER = Minhash(), 300, 5, 3, 2_500
LOOKED_AT, MOST_KEPT = 500, 0.01  # dropped copies that are looked at, and the share of all that may be kept


@dataclass(frozen=True)
class Documents:
    """Documents [start, stop)."""

    start: int
    stop: int


@dataclass(frozen=True)
class Make:
    """salt   of what is drawn at random"""

    documents: int
    partitions: int
    salt: int = 0

    def run(self, inputs: Documents, io: UnitIO) -> None:
        numbers = np.arange(inputs.start, inputs.stop)
        paired = np.flatnonzero(numbers % PAIRED == 0)
        texts = np.full(len(numbers), "", object)
        texts[paired] = paired_texts(numbers[paired] // PAIRED, self.documents // PAIRED)
        columns = {name: pa.nulls(len(numbers), COUNTED.field(name).type) for name in COUNTED.names}
        columns["text"] = pa.array(texts, pa.large_string())
        columns["id"] = pa.array([f"{number:032x}" for number in numbers.tolist()])
        docs = pa.record_batch([columns[name] for name in COUNTED.names], schema=COUNTED)
        io.write("docs", docs)
        random = np.random.default_rng([self.documents, inputs.start // UNIT, self.salt])
        bands, words = STEP.shape[0], -(-STEP.shape[0] * STEP.shape[1] // LANES_OF_WORD)
        keys = random.integers(0, 2**64, (len(numbers), bands), np.uint64)
        sketches = random.integers(0, 2**64, (len(numbers), words), np.uint64)
        true = STEP.keys(docs.take(pa.array(paired)), {})
        hashes = random.integers(0, 2**64, len(numbers), np.uint64)
        keys[paired], sketches[paired] = true.bands, true.arrays["sketch"]
        hashes[paired] = true.arrays[SKETCH_HASH]
        request = KeyRequest("minhash", STEP, self.partitions, {})
        arrays = {"sketch": sketches, SKETCH_HASH: hashes, "site": hash_numbers(numbers // TOGETHER)}
        write_keys(io, request, [(Keys(keys, arrays, short=True), len(numbers))])


@dataclass(frozen=True)
class MakeCopies:
    partitions: int

    def run(self, inputs: Documents, io: UnitIO) -> None:
        batches = []
        for start in range(inputs.start, inputs.stop, COPIES_TOGETHER):
            numbers = np.arange(start, min(start + COPIES_TOGETHER, inputs.stop))
            columns = {name: pa.nulls(len(numbers), COUNTED.field(name).type) for name in COUNTED.names}
            columns["text"] = pa.array(copied_texts(numbers), pa.large_string())
            columns["id"] = pa.array([f"{number:032x}" for number in numbers.tolist()])
            docs = pa.record_batch([columns[name] for name in COUNTED.names], schema=COUNTED)
            io.write("docs", docs)
            batches.append((COPIES_STEP.keys(docs, {}), len(numbers)))
        write_keys(io, KeyRequest("minhash", COPIES_STEP, self.partitions, {}), batches)


def copied_texts(number: NDArray[np.int64]) -> list[str]:
    """The page, with EXCHANGED of its words exchanged in each copy. Letters are bits of a hash."""
    words = np.tile(np.arange(COPIES_WORDS), (len(number), 1))
    each = number[:, None] * EXCHANGED + np.arange(EXCHANGED)
    where = hash_numbers(each) % np.uint64(COPIES_WORDS)
    words[np.arange(len(number))[:, None], where] = COPIES_WORDS + each
    return spelled(hash_numbers(words), COPIES_LETTERS)


def paired_texts(number: NDArray[np.int64], documents: int) -> list[str]:
    """The texts of those documents that are in pairs, by their number among them. Letters are bits of a hash."""
    half = documents // 2
    pair = (number % half)[:, None]
    word = np.arange(WORDS)
    exchanged = ((word == 20) & (pair % 3 > 0)) | ((word == 40) & (pair % 3 > 1))
    exchanged &= (number >= half)[:, None]
    bits = hash_numbers(pair * WORDS + word + np.where(exchanged, documents * WORDS, 0))
    return spelled(bits, LETTERS)


def spelled(bits: NDArray[np.uint64], letters: int) -> list[str]:
    """(texts,) of words that are made of bits, (texts, words)."""
    made = np.full((*bits.shape, letters + 1), ord(" "), np.uint8)
    for i in range(letters):
        made[:, :, i] = ord("a") + ((bits >> np.uint64(5 * i)) & np.uint64(31)) % np.uint64(26)
    lines = made.tobytes().decode("ascii")
    size = bits.shape[1] * (letters + 1)
    return [lines[at : at + size] for at in range(0, len(lines), size)]


def hash_numbers(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """SplitMix64 (Steele, Lea, Flood 2014) of each."""
    with np.errstate(over="ignore"):
        x = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def plan(documents: int, copies: bool) -> RunPlan:
    """The stages of a run whose first pass makes its documents."""
    partitions = 1 << (documents * REAL // PARTITION).bit_length()
    units = [PlannedUnit(Documents(at, min(at + UNIT, documents)), (str(at),)) for at in range(0, documents, UNIT)]
    work = MakeCopies(partitions) if copies else Make(documents, partitions)
    made = Stage("pass-1", work, (), lambda upstream: units)
    signed = KeyStage("pass-1", "minhash", partitions, ())
    recipe = Recipe.parse("name: scale\nread:\n  - jsonl: {paths: none}\n")
    stages = (COPIES_STEP if copies else STEP).stages(signed)
    return RunPlan(recipe, (made, *stages), (PassInfo("pass-1", ()),), ())


def plan_against(documents: int, earlier: RunFolder) -> RunPlan:
    """The stages of a run of a hundredth of the documents of an earlier one."""
    own = documents // 100
    results = earlier.results()["pass-1"]
    paths = zip(results["keys-minhash"].paths.to_pylist(), results["docs"].paths.to_pylist())
    rows = results["docs"].rows.tolist()
    files = [
        KeyFile(earlier.name_of(keys), earlier.name_of(docs), None, many) for (keys, docs), many in zip(paths, rows)
    ]
    kept = EarlierKeys(tuple(files), "made")
    partitions = partitions_for(own * REAL, kept)
    units = [PlannedUnit(Documents(at, min(at + UNIT, own)), (str(at),)) for at in range(0, own, UNIT)]
    made = Stage("pass-1", Make(documents, partitions, salt=1), (), lambda upstream: units)
    recipe = Recipe.parse("name: scale\nread:\n  - jsonl: {paths: none}\n")
    stages = STEP.stages(KeyStage("pass-1", "minhash", partitions, (), kept))
    return RunPlan(recipe, (made, *stages), (PassInfo("pass-1", ()),), ())


def make(whole: RunPlan, root: Path) -> None:
    only = RunPlan(whole.recipe, whole.stages[:1], whole.passes, whole.inputs)
    carry_out_by_workers(root, only)


def carry_out_by_workers(root: Path, stages: RunPlan) -> None:
    warm_kernels(Silent())
    run = RunFolder(str(root))
    run.make()
    with closing(Processes(os.cpu_count() or 1, preload=preloaded())) as executor:
        carry_out(Session(run, stages, executor, Silent()))


def made_and_watched(command: list[str], every: float = SELDOM, cold: Path | None = None) -> tuple[float, Watch]:
    """Have a command make its data, and watch it carry out the stages; with the seconds of these.

    cold   a folder whose files do not stay in memory in between
    """
    subprocess.run([*command, "--part", "make"], check=True)
    os.sync()
    for file in cold.rglob("*") if cold else ():
        if file.is_file():
            with file.open("rb") as made:
                os.posix_fadvise(made.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    start = time.perf_counter()
    process = subprocess.Popen([*command, "--part", "stages"])
    with watching(process.pid, own=True, every=every) as watch:
        status = process.wait()
    if status != 0:
        raise SystemExit(status)
    return time.perf_counter() - start, watch


def measure(documents: int, copies: bool, root: Path, every: float, cold: bool | None = None) -> tuple[float, int, int]:
    """Seconds, and peak bytes over all processes: resident, and proportional. Prints a table of the stages."""
    command = [sys.executable, "-m", "benchmarks.speed.scale", "--folder", str(root)]
    command += ["--documents", "--copies", str(documents)] if copies else ["--documents", str(documents)]
    wall, watch = made_and_watched(command, every, root if cold else None)
    begun = {None: "", True: ", read from the disk", False: ", in memory"}[cold]
    print(f"## {documents:,} {'near copies of one page' if copies else 'documents'}{begun}\n")
    table("stage", "wall s", "units", "busy s")
    for name, results in RunFolder(str(root)).results().items():
        if name != "pass-1":
            seconds = wall_of(root / results.folder)
            row(name, f"{seconds:.1f}", len(results), f"{results.seconds.sum():.1f}")
    row("**all, with start**", f"**{wall:.1f}**", "", "")
    gone = (check_copies if copies else check)(documents, root)
    facts = {name: number for one in RunFolder(str(root)).results().values() for name, number in one.facts.items()}
    print(
        f"\n{facts.get('sketches_compared', 0):,} pairs of sketches compared, {facts['candidates']:,} candidate pairs, "
        f"{facts['compared']:,} compared exactly, {gone:,} documents dropped; {watch.cpu:.0f} CPU s; "
        f"peak over all processes {watch.rss / GIB:.2f} GiB resident, {watch.pss / GIB:.2f} GiB proportional\n"
    )
    return wall, watch.rss, watch.pss


def measure_against(documents: int, scratch: Path | None) -> list[Figure]:
    """Of a run compared with an earlier one. Raises SystemExit unless the documents are dropped that this has."""
    root = Path(tempfile.mkdtemp(prefix="corpusmill-", dir=scratch))
    try:
        command = [sys.executable, "-m", "benchmarks.speed.scale", "--folder", str(root), "--against", str(documents)]
        wall, watch = made_and_watched(command, cold=root)
        gone, _ = dropped(root / "own", [])
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if not (gone % PAIRED == 0).all() or len(gone) != documents // 100 // PAIRED:
        raise SystemExit(f"the wrong documents go: {len(gone):,} of {documents // 100 // PAIRED:,}")
    name = f"{documents // 100:,} documents against {documents:,}"
    print(f"{name}: {wall:.1f} s, {watch.cpu:.0f} CPU s, {len(gone):,} documents dropped; peak over all processes")
    print(f"{watch.rss / GIB:.2f} GiB resident, {watch.pss / GIB:.2f} GiB proportional\n")
    return [Figure(f"{name}: peak memory, all processes", watch.pss / GIB, "GiB", MOST_AGAINST, "below")]


def dropped(root: Path, columns: list[str]) -> tuple[NDArray[np.int64], pa.Table]:
    """The numbers of the dropped documents, and the verdicts on them."""
    results = RunFolder(str(root)).results()["minhash-verdicts"]
    sizes, tables = [], []
    for slices, verdicts in zip(results["slices"].paths.to_pylist(), results["verdicts"].paths.to_pylist()):
        sizes.append(np.diff(map_arrays(root / slices)["offsets"]))
        tables.append(pq.read_table(root / verdicts, columns=["document", "reason", *columns]))
    rows, found = np.concatenate(sizes), pa.concat_tables(tables)
    numbers = found["document"].to_numpy() + np.repeat(np.arange(len(rows)) * UNIT, rows)
    gone = found["reason"].is_valid()
    return numbers[gone.to_numpy()], found.filter(gone)


def check(documents: int, root: Path) -> int:
    """How many are dropped. Raises SystemExit unless those are that must be."""
    gone, _ = dropped(root, [])
    pairs = documents // PAIRED // 2
    kind = (gone // PAIRED - pairs) % 3  # words exchanged
    equal, near = -(-pairs // 3), -(-(pairs - 1) // 3)
    right = (gone % PAIRED == 0).all() and (gone // PAIRED >= pairs).all()
    # At 0.836 a pair meets with probability 0.978.
    if not right or (kind == 0).sum() != equal or not 0.96 < (kind == 1).sum() / near < 0.99 or (kind == 2).any():
        raise SystemExit(f"the wrong documents go: {np.bincount(kind)} of {equal}, {near}, 0")
    return len(gone)


def check_copies(documents: int, root: Path) -> int:
    """How many are dropped. Raises SystemExit if too few are, or one whose similarity to a kept one is not as said."""
    gone, verdicts = dropped(root, ["duplicate_of", "similarity"])
    if documents - len(gone) > MOST_KEPT * documents:
        raise SystemExit(f"too many are kept: {documents - len(gone):,}")
    looked_at = np.linspace(0, len(gone) - 1, LOOKED_AT).astype(np.int64)
    some = verdicts.take(pa.array(looked_at)).to_pylist()
    going = set(gone.tolist())
    for number, said in zip(gone[looked_at].tolist(), some):
        kept = int(said["duplicate_of"], 16)
        one, other = (
            set(zip(*(text.split()[i:] for i in range(5)))) for text in copied_texts(np.array([number, kept]))
        )
        similarity = len(one & other) / len(one | other)
        if kept in going or similarity < COPIES_STEP.threshold or similarity != said["similarity"]:
            raise SystemExit(f"{number} is dropped for {kept}: {similarity} and not {said['similarity']}")
    return len(gone)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--documents", type=int, nargs="*", default=SIZES, help="multiples of 10, rising; none: no pairs"
    )
    parser.add_argument("--copies", type=int, nargs="*", default=COPIES, help="near copies of one page, rising")
    parser.add_argument("--scratch", type=Path, help="folder for the made data, 6 GB; a temporary one if not given")
    parser.add_argument("--part", choices=("make", "stages"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--against", type=scale, help="as 100M: a hundredth of so many, compared with so many")
    parser.add_argument("--scale", type=scale, help="as 100M: so many documents, and a tenth of them, and no copies")
    options = parser.parse_args()
    if options.scale:
        options.documents, options.copies = [options.scale // 10, options.scale], []
    if options.against and options.part:
        mix, own = RunFolder(str(options.folder / "mix")), options.folder / "own"
        if options.part == "make":
            make(plan(options.against, copies=False), options.folder / "mix")
            make(plan_against(options.against, mix), own)
        else:
            carry_out_by_workers(own, plan_against(options.against, mix))
        return 0
    if options.part:
        copies = not options.documents
        (documents,) = options.copies if copies else options.documents
        whole = plan(documents, copies)
        make(whole, options.folder) if options.part == "make" else carry_out_by_workers(options.folder, whole)
        return 0
    needed = max([0, options.against or 0, *options.documents]) * BYTES
    free = shutil.disk_usage(options.scratch or tempfile.gettempdir()).free
    if needed > free:
        raise SystemExit(
            f"{needed / 1e9:.0f} GB of disk are needed for the made data, {free / 1e9:.0f} are free; --scratch"
        )
    if options.against:
        return verdict(measure_against(options.against, options.scratch))
    heading("made: keys and sketches by number of documents", "benchmarks.speed.scale")
    figures = []
    for sizes, copies in ((options.documents, False), (options.copies, True)):
        if not sizes:
            continue
        if options.scale:
            (warm, _, _), *measured = [
                made_and_measured(documents, copies, options.scratch, SELDOM, cold)
                for documents, cold in ((sizes[0], False), *((size, True) for size in sizes))
            ]
            what = f"{sizes[-1] / 1e6:g} M documents: times the wall of a tenth whose files are in memory"
            figures.append(Figure(what, measured[-1][0] / warm, "", MOST_LONGER, "below"))
        else:
            before = calibrate().wall
            measured = [made_and_measured(documents, copies, options.scratch, OFTEN) for documents in sizes]
            slower = max((before + calibrate().wall) / 2 / OF_THE_BARS, 1.0)
        figures += figures_of(
            sizes, measured, "near copies of one page" if copies else "documents", None if options.scale else slower
        )
    return verdict(figures)


def made_and_measured(
    documents: int, copies: bool, scratch: Path | None, every: float, cold: bool | None = None
) -> tuple[float, int, int]:
    root = Path(tempfile.mkdtemp(prefix="corpusmill-", dir=scratch))
    try:
        return measure(documents, copies, root, every, cold)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def scale(text: str) -> int:
    """100M, 20k, 5000000."""
    times = {"k": 1000, "M": 1_000_000}.get(text[-1:])
    return int(text[:-1]) * times if times else int(text)


def figures_of(
    sizes: Sequence[int], measured: list[tuple[float, int, int]], what: str, slower: float | None
) -> list[Figure]:
    """slower   how many times what it took on the machine of the bars the calibration loop takes; None: the figure is
    the ratio to a tenth of the documents"""
    largest = f"{sizes[-1] / 1e6:g} M {what}"
    seconds, memory, _ = measured[-1]
    if slower is None:
        longer = seconds / measured[0][0]
        figures = [
            Figure(f"{largest}: times the wall of a tenth, both from the disk", longer, "", MOST_LONGER, "below"),
            Figure(f"{largest}: peak memory, all processes", memory / GIB, "GiB", MOST_SCALED, "below"),
        ]
    else:
        figures = [
            Figure(f"{largest}: wall, by the calibration loop", seconds / slower, "s", MOST_SECONDS, "below"),
            Figure(f"{largest}: peak memory, all processes", memory / GIB, "GiB", MOST_MEMORY, "below"),
        ]
    if len(sizes) > 1 and what == "documents":
        # Proportional: a page that two processes share, as of a file that is mapped, does not grow twice.
        for place, name in ((1, "resident"), (2, "proportional")):
            growth = float(np.polyfit(sizes, [one[place] for one in measured], 1)[0])
            figures.append(
                Figure(f"{name} memory by document, by least squares", growth, "bytes", MOST_GROWTH, "below")
            )
    return figures


if __name__ == "__main__":
    raise SystemExit(main())
