"""How well and how fast the extractors find the text of pages, against gold text that people made.

    python -m benchmarks.quality.extraction --data FOLDER [--models FOLDER]

In `make quality`, extract/blocks is judged with models that have not seen the pages: trained on the other four fifths
of the domains, and on all benchmarks but one (scripts/train_blocks.py, which needs LightGBM and trafilatura). --models
names a folder that keeps them, --typed the development part of WCXB, arXiv:2605.21097. Without --models the extractors
are run as they come, and the model that ships has seen all.

FOLDER holds *.warc.gz files and gold_extraction.jsonl.gz, one gold entry a line: `record_id` (of the WARC record),
`source` (the benchmark it comes from), `kind`, and by kind

    full_text, full_text_markup, readability_expected   `text`: scored by token F1, the mean over pages
    snippets                                            `with` and `without`: the share of snippets treated right
    prefix                                              only the beginning of the text: the recall of its tokens

Tokens are runs of letters and digits in lower case, compared as bags, as the benchmarks do.
"""

import argparse
import json
import platform
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.calibration import slowness
from benchmarks.common import ROOT, Figure, row, table, verdict
from corpusmill import read, storage
from corpusmill.errors import MissingExtraError
from corpusmill.models.blocks import BlocksModel
from corpusmill.steps.extract.blocks import Blocks
from corpusmill.steps.extract.resiliparse import Resiliparse
from corpusmill.steps.extract.trafilatura import Trafilatura

TOKEN = re.compile(r"\w+")
GOLD = "gold_extraction.jsonl.gz"
CRAWL = Path("warc", "crawl")
WCXB = Path("extraction", "wcxb_dev.tar.zst")
SMALLEST = 20  # pages of a benchmark that is left out whole
SPEED_PAGES = 300
PARTS = 5  # of the domains
WANTED = {"behind": 0.02, "MB/s": 30.0}  # a second: see `calibration.slowness`
BARS = {"older": 0.92, "WCXB": 0.87, "article": 0.94, "documentation": 0.93, "forum": 0.78}  # other types: .6
WHAT = {"all full texts": "F1", "snippets": "snippets right"}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument(
        "--data", type=Path, required=True, help="folder with *.warc.gz and gold_extraction.jsonl.gz"
    )
    arguments.add_argument("--pages", type=int, default=0, help="score only the first so many pages")
    arguments.add_argument("--models", type=Path, help="judge models that have not seen the pages, kept in this folder")
    arguments.add_argument("--typed", type=Path, help="archive of WCXB's development part; needed with --models")
    options = arguments.parse_args()
    if not (options.data / GOLD).is_file():
        print(f"{options.data / GOLD}: no such file. --data names a folder with *.warc.gz and {GOLD}.", file=sys.stderr)
        return 2
    if options.models:
        if not options.typed:
            arguments.error("--models needs --typed, the archive of WCXB's development part")
        return verdict(unseen(options.data, options.typed, options.models))
    gold = read_gold(options.data / GOLD)
    batches = list(pages_with_gold(options.data, gold, options.pages))
    if not batches:
        print(f"{options.data}: no WARC file here holds a page that {GOLD} names.", file=sys.stderr)
        return 2
    size = sum(batch["raw"].nbytes for batch in batches) / 1e6
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, {date.today()}")
    print(f"{sum(len(batch) for batch in batches)} pages, {size:.1f} MB of HTML, CPU time of one thread\n")
    extractors: dict[str, Any] = {
        "blocks, whose model has seen these pages": Blocks(),
        f"resiliparse {installed('resiliparse')}": Resiliparse(),
        "resiliparse, all text": Resiliparse(main_content=False),
        f"trafilatura {installed('trafilatura')}": Trafilatura(),
        "trafilatura, fallback: false": Trafilatura(fallback=False),
    }
    for name, step in extractors.items():
        try:
            texts, seconds = extracted(step, batches)
        except MissingExtraError as error:
            print(f"{name}: {error}\n")
            continue
        empty = sum(not text for text in texts.values())
        print(f"{name}: {size / seconds:.1f} MB/s, {empty} pages without text")
        for group, (score, count, unit) in scores(gold, texts).items():
            print(f"    {group:<32} {score:.3f}  {unit}, {count} pages")
        print()
    return 0


def run(data: Path, workload: Path | None, scratch: Path) -> list[Figure]:
    """The figures of `make quality`; none where there are no pages, or nothing to train with."""
    print("## extraction: models that have not seen the pages\n")
    for needed in (data / CRAWL / GOLD, data / WCXB):
        if not needed.is_file():
            print(f"left out: {needed} is not there\n")
            return []
    return unseen(data / CRAWL, data / WCXB, scratch)


def unseen(folder: Path, archive: Path, models: Path) -> list[Figure]:
    """Each fifth of the domains with a model of the others, and each older benchmark with a model without it."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from blocks_gold import gold_pages, typed_pages

        pages = gold_pages(folder) + typed_pages(archive)
    finally:
        sys.path.pop(0)
    gold = {page.record: page.entries for page in pages}
    parts = {f"part {part}": (["--part", f"{part}/{PARTS}"], part) for part in range(PARTS)}
    made = {name: trained(folder, archive, models, words) for name, (words, _) in parts.items()}
    if None in made.values():
        print("left out: LightGBM and trafilatura are needed to train (pip install lightgbm trafilatura)\n")
        return []
    peers = {name: {page.record: text(page.page.decode()) for page in pages} for name, text in peer_texts().items()}
    texts = {page.record: by_model(made[f"part {page.part(PARTS)}"], page.page) for page in pages}
    print("F1 and snippets, means over pages; no model has seen the domains that it is judged on\n")
    table("judged on", "benchmark", "pages", "blocks", *peers)
    figures: list[Figure] = []
    kinds = Counter(page.page_type for page in pages)
    groups: dict[str, list[Any]] = {"older": [page for page in pages if not page.page_type]}
    groups["WCXB"] = [page for page in pages if page.page_type]
    groups |= {kind: [p for p in pages if p.page_type == kind] for kind, _ in kinds.most_common() if kind}
    for group, chosen in groups.items():
        records = [page.record for page in chosen]
        ours = by_source(gold, texts, records)
        theirs = {peer: by_source(gold, peers[peer], records) for peer in peers}
        for source in ours if group == "older" else ["all full texts"]:
            score, count = ours[source]
            others = {peer: scored[source][0] for peer, scored in theirs.items()}
            row(group, source, count, f"{score:.3f}", *(f"{other:.3f}" for other in others.values()))
            bar = BARS.get(group, 0.6) if source == "all full texts" else others["trafilatura"]
            if source in ("all full texts", "snippets"):
                figures.append(Figure(f"extraction, {group}: {WHAT[source]}", score, "", round(bar, 3), digits=3))
    engines = {"blocks": texts, **peers}
    empty = {name: sum(not found[page.record].strip() for page in groups["WCXB"]) for name, found in engines.items()}
    row("WCXB", "pages without text", len(groups["WCXB"]), *empty.values())
    sources = Counter(source for page in groups["older"] for source in page.sources)
    for source, count in sorted(sources.items()):
        if count >= SMALLEST and source != "trafilatura":
            model = trained(folder, archive, models, ["--without", source])
            chosen = [page for page in groups["older"] if source in page.sources]
            scored = by_source(gold, {page.record: by_model(model, page.page) for page in chosen})[source]
            others = {peer: by_source(gold, peers[peer], [p.record for p in chosen])[source][0] for peer in peers}
            row(f"without {source}", source, scored[1], f"{scored[0]:.3f}", *(f"{one:.3f}" for one in others.values()))
            bar = round(others["trafilatura"] - WANTED["behind"], 3)
            figures.append(Figure(f"extraction, without {source}: its F1", scored[0], "", bar, digits=3))
    print()
    return figures + speed(pages)


def trained(folder: Path, archive: Path, models: Path, words: list[str]) -> BlocksModel | None:
    """The model that scripts/train_blocks.py makes with these words, made now unless it is there."""
    path = models / f"{'-'.join(words).strip('-').replace('/', 'of')}.model"
    if not path.exists():
        models.mkdir(parents=True, exist_ok=True)
        script = ROOT / "scripts" / "train_blocks.py"
        command = [
            sys.executable,
            str(script),
            "--data",
            str(folder),
            "--typed",
            str(archive),
            "--out",
            str(path),
            *words,
        ]
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            return None
    return BlocksModel.load(path)


def by_model(model: BlocksModel | None, page: bytes) -> str:
    assert model is not None
    return Blocks().html_extracted(page, model).text


def peer_texts() -> dict[str, Callable[[str], str]]:
    import trafilatura
    from resiliparse.extract.html2text import extract_plain_text

    def careful(html: str) -> str:
        try:
            return trafilatura.extract(html, include_comments=False) or ""
        except Exception:
            return ""  # it fails on a few pages

    return {"trafilatura": careful, "resiliparse": lambda html: extract_plain_text(html, main_content=True)}


def by_source(
    gold: dict[str, list[dict[str, Any]]], texts: dict[str, str], only: Iterable[str] | None = None
) -> dict[str, tuple[float, int]]:
    """benchmark -> (the mean of its scores, its pages), and so for all full texts."""
    results: dict[str, list[float]] = defaultdict(list)
    for record in texts if only is None else only:
        for entry in gold[record]:
            value = KINDS[entry["kind"]][0](entry, texts[record])
            if value is not None and entry["kind"] == "snippets":
                results["snippets"].append(value)
            elif value is not None:
                results[entry["source"]].append(value)
                results["all full texts"].append(value)
    return {source: (sum(values) / len(values), len(values)) for source, values in results.items()}


def speed(pages: list[Any]) -> list[Figure]:
    """MB of HTML a second of CPU time, of one thread; page by page in turn, because the machine may be busy."""
    chosen = pages[:: max(1, len(pages) // SPEED_PAGES)]
    step = Blocks()
    engines = {"blocks": step.html_text, **{n: _decoded(f) for n, f in peer_texts().items()}}
    seconds = dict.fromkeys(engines, 0.0)
    for warming in (True, False):
        for page in chosen[:3] if warming else chosen:
            for name, engine in engines.items():
                start = time.thread_time()
                engine(page.page)
                seconds[name] += 0 if warming else time.thread_time() - start
    size, slow = sum(len(page.page) for page in chosen) / 1e6, slowness()
    rates = {name: size / taken for name, taken in seconds.items()}
    print(f"MB of HTML/s, CPU time of one thread, {len(chosen)} pages, the engines in turn:", end=" ")
    print(", ".join(f"{name} {rate:.1f}" for name, rate in rates.items()), end="; ")
    print(f"the calibration loop takes {slow:.2f} times that of the bars\n")
    return [
        Figure(
            "extraction: HTML a core, by the calibration loop", rates["blocks"] * slow, "MB/s", WANTED["MB/s"], digits=0
        )
    ]


def _decoded(text: Callable[[str], str]) -> Callable[[bytes], str]:
    return lambda page: text(page.decode("utf-8", "replace"))


def read_gold(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Gold entries by record id."""
    import gzip

    gold = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            gold[entry["record_id"]].append(entry)
    return dict(gold)


def pages_with_gold(folder: Path, gold: dict[str, Any], limit: int) -> Iterator[pa.RecordBatch]:
    """The pages that gold names, as the reader gives them."""
    reader = read.find("warc")()
    left = limit or sys.maxsize
    for file in storage.expand(str(folder / "*.warc.gz")):
        for batch in reader.read(read.whole_file(file), "benchmark", read.ReadCounts()):
            ids = [json.loads(row)["warc_record_id"] for row in batch["metadata"].to_pylist()]
            known = batch.filter(pa.array([name in gold for name in ids], pa.bool_())).slice(0, left)
            left -= len(known)
            if len(known):
                yield known


def extracted(step: Any, batches: list[pa.RecordBatch]) -> tuple[dict[str, str], float]:
    """Text by record id, and the CPU seconds that it took after a first page for warming up."""
    step.transform(batches[0].slice(0, 1))
    start = time.thread_time()
    done = [step.transform(batch) for batch in batches]
    seconds = time.thread_time() - start
    texts = {}
    for batch in done:
        for metadata, text in zip(batch["metadata"].to_pylist(), batch["text"].to_pylist(), strict=True):
            texts[json.loads(metadata)["warc_record_id"]] = text or ""
    return texts, seconds


def scores(gold: dict[str, list[dict[str, Any]]], texts: dict[str, str]) -> dict[str, tuple[float, int, str]]:
    """group -> (mean score, pages, what the score is)."""
    results: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record, text in texts.items():
        for entry in gold[record]:
            score, unit = KINDS[entry["kind"]]
            if (value := score(entry, text)) is not None:
                results[f"{entry['source']} ({entry['kind']})", unit].append(value)
    return {group: (sum(values) / len(values), len(values), unit) for (group, unit), values in sorted(results.items())}


def f1(entry: dict[str, Any], text: str) -> float | None:
    want, have = bag(entry["text"]), bag(text)
    if not want:
        return None
    both = (want & have).total()
    return 2 * both / (want.total() + have.total())


def recall(entry: dict[str, Any], text: str) -> float | None:
    want = bag(entry["text"])
    return (want & bag(text)).total() / want.total() if want else None


def snippets(entry: dict[str, Any], text: str) -> float | None:
    flat = " ".join(text.split())
    right = [" ".join(part.split()) in flat for part in entry["with"]]
    right += [" ".join(part.split()) not in flat for part in entry["without"]]
    return sum(right) / len(right) if right else None


def bag(text: str) -> Counter[str]:
    return Counter(TOKEN.findall(text.lower()))


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


KINDS: dict[str, tuple[Callable[[dict[str, Any], str], float | None], str]] = {
    "full_text": (f1, "token F1"),
    "full_text_markup": (f1, "token F1"),
    "readability_expected": (f1, "token F1"),
    "snippets": (snippets, "snippets right"),
    "prefix": (recall, "token recall"),
}

if __name__ == "__main__":
    sys.exit(main())
