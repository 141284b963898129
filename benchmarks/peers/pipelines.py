"""Whole pipelines of others beside ours: python -m benchmarks.peers.pipelines --workload DIR [PEER …]

From JSON lines to clean documents and tokens, on the same documents, with the same number of workers, one after the
other in the same run. Each peer is a script beside this one, `pipeline_PEER.py`, which runs in an environment of its
own, build/peer-PEER, and knows nothing of corpusmill; ours is `corpusmill run`. `make bench-peers` makes the
environments. A peer that is not installed, fails or takes too long has its reason in its row, and the rest go on.

    wall     seconds of the whole process, start included
    CPU      seconds of all its processes
    memory   peak over all its processes at the same time, shared pages counted once
    kept     documents in its output
    found    of the planted copies of which both documents came to its deduplication and that are alike by 0.9 or
             more, the share of which not both are kept
    right    of the documents that it removed as copies, the share that is alike, by the similarity that its
             deduplication is set to, with the document it was removed for: exact Jaccard similarity of 5-grams of
             its kind of words, of the text as it came, or without HTML where the pipeline strips it

The small data are the slice of the workload, 46 MB; `--whole` adds all of it, 472 MB, on which slow peers take up to
an hour; `--data DIR` adds DIR/bench/web46.jsonl.zst. Prints Markdown, and last each figure beside its bar; exits with
1 if one was missed.

What a script owes: `run SETTINGS.json` does the work, from SETTINGS' `files` to the folder `out`, in the folder `work`,
with so many `workers`, with a `language_model` (lid.176.ftz) and `tokenizer` (GPT-2's tokenizer.json) from files;
afterwards `tell SETTINGS.json` writes to the file `answer`:

    {"version": …, "kept": [url, …],
     "compared": [url, …]: what came to deduplication; null if there is none,
     "duplicates": [[url of a removed document, of the one that it duplicates or null where that is not known], …]}
"""

import argparse
import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import orjson
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from benchmarks.common import GIB, MB, ROOT, Figure, Workload, heading, row, table, verdict, watching
from benchmarks.peers.dedup import FOLDED, SPLIT, Truth, our_duplicates
from corpusmill.assets import load, locate
from corpusmill.steps.clean.html import Html
from corpusmill.steps.filter import _lists
from corpusmill.store.run_folder import RunFolder

SMALL, WHOLE, REAL = "slice", "whole", "web46"
PIECES = 8  # that a data set in one file is cut into, for those who do not split files
SURE = 0.9  # similarity of planted copies that everybody should find

# FineWeb's steps in datatrove's order: see fineweb.yaml.
FINEWEB = """
  - filter/url
  - filter/language: {{languages: [en], model: lid.176.ftz, min_score: 0.65, windows: 1, window_chars: 1000000}}
  - filter/gopher_repetition
  - filter/gopher_quality
  - filter/c4: {{{c4}}}
  - filter/fineweb
  - dedup/minhash: {{ngram: 5, bands: 14, rows: 8, threshold: 0.75, numbers: fold, punctuation: drop}}
  - redact/pii: {{kinds: [email, ip], forms: plain, placeholders: {{email: email@example.com, ip: 22.214.171.124}}}}
  - tokenize/bpe: {{tokenizer: gpt2}}
  - pack/concat: {{length: 2048}}
"""

# tokenturbine.yaml.
TOKENTURBINE = """
  - clean/html
  - clean/normalize: {indentation: false}
  - filter/basic: {rules: [min_characters], min_characters: 100}
  - filter/code
  - annotate/stats
  - filter/language: {languages: [en], model: lid.176.ftz, min_score: 0.65, windows: 1, offset: 0.25}
  - redact/pii: {kinds: [email, ip, phone]}
  - filter/toxicity: {rules: [max_share], max_share: 0.001}
  - filter/basic: {rules: [max_special_char_ratio], max_special_char_ratio: 0.3}
  - dedup/exact
  - dedup/minhash: {ngram: 5, threshold: 0.85}
  - tokenize/bpe: {tokenizer: gpt2}
"""

# The steps of a usual recipe of Data-Juicer, by the rules of ours that come nearest.
DATA_JUICER = """
  - clean/normalize
  - filter/language: {languages: [en], model: lid.176.ftz, min_score: 0.8, windows: 1, window_chars: 1000000}
  - filter/basic: {rules: [min_words, max_special_char_ratio], min_words: 20, max_special_char_ratio: 0.25}
  - filter/gopher_repetition
  - redact/pii: {kinds: [email, ip]}
  - dedup/minhash: {ngram: 5, threshold: 0.7}
"""

# Dolma's taggers, as the nearest rules; what it removes is equal in every byte.
DOLMA = """
  - filter/language: {languages: [en], model: lid.176.ftz, min_score: 0.5, windows: 1, window_chars: 1000000}
  - filter/gopher_repetition
  - filter/gopher_quality
  - redact/pii: {kinds: [email, ip, phone]}
  - dedup/exact
  - tokenize/bpe: {tokenizer: gpt2}
  - pack/concat: {length: 2048}
"""

NEMO = """
  - filter/language: {languages: [en], model: lid.176.ftz, min_score: 0.3, windows: 1, window_chars: 1000000}
  - filter/gopher_repetition
  - filter/gopher_quality
  - tokenize/bpe: {tokenizer: gpt2}
  - pack/concat: {length: 2048}
"""

LINES = "\n  - jsonl: {compression: none}"
SHARDS = f"{LINES}\n  - shards"
TABLES = "\n  - jsonl: {compression: none, single_file: true}\n  - tokenized: {compression: snappy}"


@dataclass(frozen=True)
class Pair:
    """A pipeline of a peer, and ours beside it.

    threshold   similarity that its deduplication is set to, by `words`; None if it removes no near copies
    bars        data: times that ours is to be faster, by wall seconds
    html        whether HTML is stripped from the text
    same        whether both are to decide the same, up to deduplication
    apart       what cannot be compared
    """

    peer: str
    variant: str
    name: str
    steps: str
    write: str
    apart: str
    threshold: float | None = None
    words: str = FOLDED
    bars: dict[str, float] = field(default_factory=dict)
    html: bool = False
    same: bool = False


PAIRS = (
    Pair(
        "datatrove", "own", "datatrove, as it comes", FINEWEB.format(c4="terminal_punctuation: false"), SHARDS,
        "the same rules and thresholds, with its own words (spaCy's), sentences and lists of addresses, of which ours "
        "are far smaller; it removes all of a cluster but one, ours only what is 0.75 alike. It writes nothing of what "
        "it drops, ours writes it and every measure",
        0.75, bars={SMALL: 25, WHOLE: 45, REAL: 25},
    ),
    Pair(
        "datatrove", "split", "datatrove, words at white space",
        FINEWEB.format(c4="terminal_punctuation: false, min_sentences: null"), SHARDS,
        "both split words at white space, count no sentences, and have our lists of words in addresses: both should "
        "drop the same up to deduplication",
        0.75, same=True,
    ),
    Pair(
        "tokenturbine", "lazy", "TokenTurbine's stages, as described", TOKENTURBINE, TABLES,
        "its rules on code and its list of toxic words are others than ours; every stage is done twice, once for the "
        "documents and once for the tokens, as Ray does where nothing is kept",
        0.85, bars={SMALL: 25, WHOLE: 25, REAL: 25}, html=True,
    ),
    Pair(
        "tokenturbine", "once", "TokenTurbine's stages, done once", TOKENTURBINE, TABLES,
        "the same, with the documents kept in Ray's memory in between", 0.85, html=True,
    ),
    Pair(
        "datajuicer", "", "Data-Juicer", DATA_JUICER, LINES,
        "its operators measure other things than our rules (repetition of characters and words by n-grams of 10), so "
        "what is kept differs; stop words, flagged words and perplexity are left out, whose files it downloads; it has "
        "no stage that writes tokens, so neither does ours",
        0.7, SPLIT,
    ),
    Pair(
        "dolma", "", "Dolma", DOLMA, SHARDS,
        "it tags all documents by every rule and decides afterwards, as ours measures; language by "
        "fastText on the text in lower case; its toolkit removes exact copies only, by a Bloom filter",
    ),
    Pair(
        "nemo", "", "NeMo Curator, CPU", NEMO, SHARDS,
        "its deduplication, exact and fuzzy, needs a GPU and is left out, and it has no step for personal data; bounds "
        "on repetition are its own, looser than Gopher's",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Data:
    """Documents of which the copies are known, in files of JSON lines."""

    name: str
    files: tuple[Path, ...]
    truth: Path  # as that of the workload, and as that of web46
    strip_html: bool = False

    @cached_property
    def bytes(self) -> int:
        return sum(file.stat().st_size for file in self.files)

    @cached_property
    def texts(self) -> dict[str, str]:
        """url -> text, without HTML if that is stripped."""
        texts: dict[str, str] = {}
        for file in self.files:
            rows = [orjson.loads(line) for line in file.read_bytes().splitlines()]
            column = pa.array([row["text"] for row in rows], pa.large_string())
            if self.strip_html:
                found = Html().transform(pa.RecordBatch.from_arrays([column], ["text"]))["text"]
                column = found.fill_null("")
            texts.update(zip((row["url"] for row in rows), column.to_pylist()))
        return texts

    @cached_property
    def at(self) -> dict[str, int]:
        return {url: place for place, url in enumerate(self.texts)}

    @cached_property
    def planted(self) -> Truth:
        """Pairs of documents by their place in `texts`."""
        place = {int(url.rpartition("/d")[2]): at for url, at in self.at.items()}
        said = json.loads(self.truth.read_bytes())
        pairs = [(*pair, 2.0) for pair in said["exact"]] + [tuple(pair[:3]) for pair in said["near"]]
        return Truth(
            list(self.texts.values()),
            np.array([(place[one], place[other]) for one, other, _ in pairs], np.int64),
            np.array([alike for *_, alike in pairs]),
        )

    def __str__(self) -> str:
        return f"{self.name}: {len(self.texts):,} documents in {len(self.files)} files, {self.bytes / MB:,.0f} MB"


@dataclass(frozen=True)
class Outcome:
    """What a pipeline took, and what it did."""

    wall: float
    cpu: float
    memory: int
    version: str
    kept: frozenset[str]
    compared: frozenset[str] | None
    duplicates: tuple[tuple[str, str | None], ...] | None
    reasons: dict[str, str] = field(default_factory=dict)  # ours: url -> the step that dropped it


class Failure(Exception):
    """A pipeline that gave no result, and why."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = list(dict.fromkeys(pair.peer for pair in PAIRS))
    parser.add_argument("names", nargs="*", metavar="PEER", help=f"which; all if none is named: {', '.join(names)}")
    parser.add_argument("--workload", type=Path, required=True, help="a folder made by benchmarks/workload.py")
    parser.add_argument("--data", type=Path, help="folder of real documents; its bench/web46.jsonl.zst is measured")
    parser.add_argument("--whole", action="store_true", help="measure all of the workload, too")
    parser.add_argument("--environments", type=Path, default=ROOT / "build", help="where the folders peer-PEER are")
    parser.add_argument("--runs", type=int, default=3, help="of ours, of which the median is taken; of peers one")
    parser.add_argument("--timeout", type=float, default=5400, help="seconds after which a peer is given up")
    parser.add_argument("--scratch", type=Path, help="folder for what runs write; a temporary one if not given")
    options = parser.parse_args()
    if unknown := set(options.names) - set(names):
        parser.error(f"there is no peer {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    workload = Workload.open(options.workload.resolve())
    heading(workload, "benchmarks.peers.pipelines")
    scratch = Path(tempfile.mkdtemp(prefix="peers-", dir=options.scratch))  # short: Ray puts sockets below it
    figures: list[Figure] = []
    try:
        for data in data_sets(workload, options.whole, options.data, scratch):
            pairs = [pair for pair in PAIRS if not options.names or pair.peer in options.names]
            figures += measure(data, pairs, options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return verdict(figures)


def data_sets(workload: Workload, whole: bool, real: Path | None, scratch: Path) -> Iterator[Data]:
    part = workload.slice
    yield Data(SMALL, part.files, part.folder / "truth.json")
    if real:
        yield web46(real.resolve(), scratch / "web46")
    if whole:
        yield Data(WHOLE, workload.files, workload.folder / "truth.json")


def web46(folder: Path, out: Path) -> Data:
    """Cut into files, as most peers give each worker a file."""
    packed, truth = (folder / "bench" / name for name in ("web46.jsonl.zst", "web46.truth.json"))
    if not packed.is_file() or not truth.is_file():
        raise SystemExit(
            f"{folder}: it has no bench/{packed.name} and {truth.name}; leave out DATA, or name their folder"
        )
    with packed.open("rb") as source, zstandard.ZstdDecompressor().stream_reader(source) as stream:
        lines = stream.read().splitlines(keepends=True)
    out.mkdir(parents=True, exist_ok=True)
    step = -(-len(lines) // PIECES)
    files = tuple(out / f"docs-{piece:04}.jsonl" for piece in range(PIECES))
    for piece, file in enumerate(files):
        file.write_bytes(b"".join(lines[piece * step : (piece + 1) * step]))
    return Data(REAL, files, truth)


def measure(data: Data, pairs: list[Pair], options: argparse.Namespace, scratch: Path) -> list[Figure]:
    workers = os.cpu_count() or 1
    print(f"## whole pipelines: {data}, {workers} workers; ours: median of {options.runs}\n")
    table(
        "", "wall s", "MB/s", "CPU s", "peak GiB", "ours is faster", "by CPU s", "kept", "planted copies", "found",
        "removed as copies", "right",
    )  # fmt: skip
    figures: list[Figure] = []
    notes: list[str] = []
    texts = {html: Data(data.name, data.files, data.truth, html) for html in (False, True)}
    for pair in pairs:
        known = texts[pair.html]
        try:
            alone = [ourselves(pair, data, scratch, workers) for _ in range(options.runs - 1)]
            theirs = ask(pair, data, options, scratch, workers)
        except Failure as failure:
            row(pair.name, *[""] * 11)
            notes.append(f"{pair.name}: {failure}")
            continue
        ours = middle([*alone, ourselves(pair, data, scratch, workers)])
        faster, by_cpu = theirs.wall / ours.wall, theirs.cpu / ours.cpu
        show(f"{pair.name} ({theirs.version})", known, theirs, (pair.threshold, pair.words), (faster, by_cpu))
        show("corpusmill beside it", known, ours, (pair.threshold, FOLDED), ())
        figures.append(Figure(f"{data.name}: faster than {pair.name}", faster, "times", pair.bars.get(data.name)))
        figures.append(Figure(f"{data.name}: CPU seconds of {pair.name}, by ours", by_cpu, "times"))
        notes.append(f"{pair.name}: {pair.apart}. {difference(pair, known, ours, theirs)}")
    print()
    for note in notes:
        print(f"- {note}")
    print(flush=True)
    return figures


def show(name: str, data: Data, one: Outcome, alike: tuple[float | None, str], times: tuple[float, ...]) -> None:
    """`alike`: from which similarity on documents are duplicates, by which words; `times`: that ours is faster."""
    faster = [f"{value:.1f} times" for value in times] or ["", ""]
    row(
        name, f"{one.wall:.1f}", f"{data.bytes / MB / one.wall:.2f}", f"{one.cpu:.1f}", f"{one.memory / GIB:.2f}",
        *faster, f"{len(one.kept):,}", *quality(data, one, *alike),
    )  # fmt: skip


def quality(data: Data, one: Outcome, threshold: float | None, words: str) -> tuple[str, str, str, str]:
    """Planted copies that came to deduplication, the share found; documents removed, the share that was right."""
    if one.compared is None or one.duplicates is None:
        return "", "", "", ""
    came = np.zeros(len(data.texts), bool)
    came[[data.at[url] for url in one.compared]] = True
    gone = np.zeros(len(data.texts), bool)
    gone[[data.at[url] for url, _ in one.duplicates]] = True
    truth = data.planted
    # Without near deduplication, only what is equal can be asked for.
    sure = (truth.similarity >= (SURE if threshold else 2.0)) & came[truth.pairs].all(axis=1)
    found = f"{gone[truth.pairs[sure]].any(axis=1).mean():.4f}" if sure.any() else ""
    known = [(data.at[url], data.at[other]) for url, other in one.duplicates if other is not None]
    right = ""
    if known:
        alike = truth.similarities(np.array(known, np.int64), words)
        right = f"{(alike >= (threshold or 1.0)).mean():.4f}"
    return f"{sure.sum():,}", found, f"{len(one.duplicates):,}", right


def difference(pair: Pair, data: Data, ours: Outcome, theirs: Outcome) -> str:
    """What both keep, and where they differ; up to deduplication where both are to decide the same."""
    both, mine, other = ours.kept & theirs.kept, ours.kept - theirs.kept, theirs.kept - ours.kept
    said = f"Both keep {len(both):,}, only it {len(other):,}, only ours {len(mine):,}"
    if not pair.same or ours.compared is None or theirs.compared is None:
        return said + "."
    differ = sorted(ours.compared ^ theirs.compared)
    steps = Counter(ours.reasons.get(url, "kept by ours alone") for url in differ)
    listed = ", ".join(f"{step} {count}" for step, count in steps.most_common())
    return (
        f"{said}. Up to deduplication both keep {len(ours.compared & theirs.compared):,}, and {len(differ):,} of "
        f"{len(data.texts):,} decisions differ{f': {listed}' if listed else ''}."
    )


def middle(outcomes: list[Outcome]) -> Outcome:
    """The last one, with the median of what they took; all must have kept the same."""
    last = outcomes[-1]
    if any(one.kept != last.kept for one in outcomes):
        raise SystemExit("corpusmill kept other documents in another run of the same recipe")
    return Outcome(
        median(one.wall for one in outcomes), median(one.cpu for one in outcomes), max(one.memory for one in outcomes),
        last.version, last.kept, last.compared, last.duplicates, last.reasons,
    )  # fmt: skip


def timed(
    command: list[str], log: Path, environment: dict[str, str], timeout: float | None = None
) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds and peak memory of a command with all that it starts. Raises Failure."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment, cwd=log.parent)
        with watching(process.pid, own=True) as watch:
            try:
                status = process.wait(timeout)
            except subprocess.TimeoutExpired:
                end(process)
                raise Failure(f"it was given up after {timeout:,.0f} s") from None
        wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # The system counts what was waited for, samples what still ran: Ray does not wait for all of its processes.
    waited = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if status != 0:
        lines = log.read_text("utf-8", "replace").strip().splitlines() or ["it said nothing"]
        raise Failure(f"it ended with status {status}: {lines[-1][:300]}")
    return wall, max(waited, watch.cpu), watch.pss


def end(process: subprocess.Popen[bytes]) -> None:
    """With everything that it has started."""
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    for child in family:
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue


def ask(pair: Pair, data: Data, options: argparse.Namespace, scratch: Path, workers: int) -> Outcome:
    environment = options.environments / f"peer-{pair.peer}"
    python = environment.absolute() / "bin" / "python"
    if not (environment / ".ready").exists():
        log = environment / "install.log"
        lines = log.read_text("utf-8", "replace").strip().splitlines() if log.is_file() else []
        raise Failure(f"not installed: {lines[-1][:300] if lines else 'make bench-peers makes its environment'}")
    folder = scratch / f"{pair.peer}-{pair.variant}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    settings, script = folder / "settings.json", Path(__file__).with_name(f"pipeline_{pair.peer}.py")
    settings.write_text(json.dumps(settings_of(pair, data, folder, scratch, workers)), "utf-8")
    try:
        own = variables(folder, python)
        took = timed([str(python), str(script), "run", str(settings)], folder / "log", own, options.timeout)
        timed([str(python), str(script), "tell", str(settings)], folder / "log", own)
        said: dict[str, Any] = json.loads((folder / "answer.json").read_bytes())
        compared, duplicates = said["compared"], said["duplicates"]
        return Outcome(
            *took,
            said["version"],
            frozenset(said["kept"]),
            None if compared is None else frozenset(compared),
            None if duplicates is None else tuple((one, other) for one, other in duplicates),
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def settings_of(pair: Pair, data: Data, folder: Path, scratch: Path, workers: int) -> dict[str, Any]:
    tokenizer = scratch / "gpt2.json"
    if not tokenizer.exists():
        tokenizer.write_bytes(gzip.decompress(locate("gpt2").read_bytes()))
    words = {"banned_words": "hard_words", "banned_subwords": "sub_words", "soft_banned_words": "soft_words"}
    return {
        "variant": pair.variant,
        "files": [str(file) for file in data.files],
        "out": str(folder / "out"),
        "work": str(folder / "work"),
        "answer": str(folder / "answer.json"),
        "workers": workers,
        "documents": len(data.texts),
        "language_model": str(locate("lid.176.ftz")),
        "tokenizer": str(tokenizer),
        "ray": str(scratch / "ray"),
        "url_lists": {theirs: load(f"url/{ours}", _lists.words) for theirs, ours in words.items()},
        "toxic_words": TOXIC_WORDS,
    }


# TokenTurbine has a list of slurs and insults of about this length; which they are makes no difference to its speed.
TOXIC_WORDS = ["bitch", "whore", "slut", "bastard", "faggot", "retard", "cunt", "asshole", "dickhead", "wanker", "twat", "prick"]  # fmt: skip  # noqa: E501


def variables(folder: Path, python: Path) -> dict[str, str]:
    """The environment is activated, nothing of ours is on the path, no network, and caches are below the folder."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return kept | {
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "HF_HOME": str(folder / "hf"),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_raylet_start_wait_time_s": "300",
        "DATA_JUICER_CACHE_HOME": str(folder / "juicer"),
        "UV_OFFLINE": "1",  # Data-Juicer would install what it misses while it runs
        "NLTK_DATA": str(folder / "nltk"),
        "TOKENIZERS_PARALLELISM": "true",
    }


def ourselves(pair: Pair, data: Data, scratch: Path, workers: int) -> Outcome:
    folder, recipe = scratch / "run", scratch / "recipe.yaml"
    shutil.rmtree(folder, ignore_errors=True)
    paths = json.dumps([str(file) for file in data.files])
    recipe.write_text(
        f"name: pipeline\nread:\n  - jsonl: {{paths: {paths}, source: web}}\nsteps:{pair.steps}write:{pair.write}\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(recipe), "--folder", str(folder)]
    try:
        took = timed([*command, "--workers", str(workers)], scratch / "log", dict(os.environ))
    except Failure as failure:
        raise SystemExit(f"corpusmill beside {pair.name}: {failure}") from failure
    outcome = what_we_did(folder, *took)
    shutil.rmtree(folder)
    return outcome


def what_we_did(folder: Path, wall: float, cpu: float, memory: int) -> Outcome:
    """Read from the run folder."""
    files = sorted((folder / "output" / "jsonl").glob("*.jsonl"))
    kept = frozenset(orjson.loads(line)["url"] for file in files for line in file.read_bytes().splitlines())
    results = RunFolder(str(folder)).results()
    first = results["pass-1"]

    def rows(kind: str, *columns: str) -> pa.Table:
        return pa.concat_tables(
            [pq.read_table(folder / path, columns=list(columns)) for path in first[kind].paths.to_pylist()]
        )

    came = rows("docs", "url")["url"].to_pylist()
    measured = rows("signals", "url", "dropped_by")
    steps = zip(measured["url"].to_pylist(), measured["dropped_by"].cast(pa.string()).to_pylist())
    reasons = {url: step for url, step in steps if step is not None}
    stages = [name for name in results if name.endswith("-verdicts")]
    if not stages:
        return Outcome(wall, cpu, memory, "", kept, None, None, reasons)
    pairs = np.concatenate([our_duplicates(folder, stage) for stage in stages])
    duplicates = tuple((came[one], came[other]) for one, other in pairs.tolist())
    return Outcome(wall, cpu, memory, "", kept, frozenset(came), duplicates, reasons)


if __name__ == "__main__":
    raise SystemExit(main())
