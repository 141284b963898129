"""The text that the recipe `fineweb` takes from pages, beside that of datatrove, and what its filters then keep.

    python -m benchmarks.peers.fineweb_text --data DIR [--old PYTHON …]

DIR has warc/crawl/*.warc.gz. datatrove calls trafilatura with `deduplicate`: a paragraph of more than 100 characters
that its process has seen three times before is left out, and so is a whole page. A text then depends on which pages
came before it in the same process, and on how many processes there are. That of `extract/trafilatura` depends on the
page alone. How much that is, is measured: with `deduplicate`, the pages in two orders, and without it.

Each PYTHON has an older trafilatura. FineWeb's first document begins with rows of a table as versions up to 1.6.1 write
them, "|Lil||Feb 1 2013, 09:58 AM|"; its code, datatrove, later asked for 1.8 to 1.11. `make fineweb-text` installs both
ends.

Texts then go through the steps of the recipe that filter. All ways get the pages as extract/trafilatura decodes them.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

import corpusmill
from benchmarks.common import heading, row, table
from benchmarks.quality.extraction import CRAWL, bag
from corpusmill import read, storage
from corpusmill.errors import DocumentError
from corpusmill.inspect.listing import Listing
from corpusmill.recipe.shipped import RECIPES_FOLDER
from corpusmill.report.tables import RunTables
from corpusmill.steps.extract._page import read_page
from corpusmill.steps.extract.trafilatura import Trafilatura

OURS = "extract/trafilatura"
OTHER_STEPS = ("extract/", "tokenize/", "pack/")  # than those that filter
Text = str | None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with warc/crawl/*.warc.gz")
    parser.add_argument("--old", nargs="*", default=[], metavar="PYTHON", help="one that has an older trafilatura")
    parser.add_argument("--pages", type=int, help="only the first so many")
    options = parser.parse_args()
    heading("pages of warc/crawl", "benchmarks.peers.fineweb_text")
    pages = list(islice(html_pages(options.data / CRAWL), options.pages))
    if not pages:
        raise SystemExit(f"{options.data / CRAWL}: no pages in *.warc.gz here")
    step = Trafilatura(favour="precision")  # as in the recipe
    texts: dict[str, list[Text]] = {OURS: [our_text(step, html) for _, html in pages]}
    with tempfile.TemporaryDirectory(prefix="corpusmill-") as folder:
        pythons: dict[str, tuple[str, ...]] = {sys.executable: ("plain", "ordered", "reversed")}
        pythons |= dict.fromkeys(options.old, ("plain", "ordered"))
        for python, ways in pythons.items():
            answers = ask(python, ways, [html for _, html in pages], Path(folder))
            name = f"trafilatura {answers.pop('version')}"
            texts |= {f"{name}, {way}": found for way, found in answers.items()}
        print(f"## the text of `fineweb`: {len(pages):,} pages\n")
        table("text by", "pages with text", "words", "the same text", "F1 of words", "kept by pass-1", "and by dedup")
        for name, found in texts.items():
            row(name, *compared(texts[OURS], found), *kept([url for url, _ in pages], found, Path(folder), name))
    print("\nThe same text, and F1 (the mean over pages on which either finds text), with that of extract/trafilatura.")
    of_order = [name for name in texts if name.endswith(("ordered", "reversed"))][:2]
    changed = sum(one != other for one, other in zip(*(texts[name] for name in of_order), strict=True))
    print(f"Pages whose text depends on the order of pages, with `deduplicate`: {changed:,}.")
    return 0


def html_pages(folder: Path) -> Iterable[tuple[str, str]]:
    """URL and HTML of each page that the step would read."""
    reader = read.find("warc")()
    for file in storage.expand(str(folder / "*.warc.gz")):
        for batch in reader.read(read.whole_file(file), "benchmark", read.ReadCounts()):
            for url, raw, charset in zip(*(batch[name].to_pylist() for name in ("url", "raw", "charset")), strict=True):
                try:
                    yield url, read_page(raw, charset, Trafilatura().max_mb)
                except DocumentError:
                    continue


def our_text(step: Trafilatura, html: str) -> Text:
    try:
        return step.html_text(html) or None
    except DocumentError:
        return None


def ask(python: str, ways: Iterable[str], pages: list[str], folder: Path) -> dict[str, Any]:
    pages_file, texts_file = folder / "pages.json.gz", folder / "texts.json.gz"
    pages_file.write_bytes(gzip.compress(json.dumps(pages).encode(), 1))
    script = Path(__file__).with_name("fineweb_text_trafilatura.py")
    subprocess.run([python, script, pages_file, texts_file, *ways], check=True)
    answers: dict[str, Any] = json.loads(gzip.decompress(texts_file.read_bytes()))
    return answers


def compared(ours: list[Text], others: list[Text]) -> list[str]:
    """Pages with text, words, pages with the same text, and the mean F1 of words where either has text."""
    pairs = [(one or "", other or "") for one, other in zip(ours, others, strict=True)]
    with_text = [pair for pair in pairs if any(pair)]
    scores = []
    for one, other in with_text:
        first, second = bag(one), bag(other)
        scores.append(2 * (first & second).total() / max(first.total() + second.total(), 1))
    same = sum(one.split() == other.split() for one, other in pairs)
    words = sum(len(other.split()) for _, other in pairs)
    found = sum(bool(other) for _, other in pairs)
    return [f"{found:,}", f"{words:,}", f"{same / len(pairs):.3f}", f"{sum(scores) / len(scores):.3f}"]


def kept(urls: list[str], texts: list[Text], folder: Path, name: str) -> list[str]:
    """Documents that the recipe's filters keep, before and after its dedup."""
    inputs = folder / "texts.jsonl"
    with inputs.open("w", encoding="utf-8") as file:
        for url, text in zip(urls, texts, strict=True):
            if text:
                file.write(json.dumps({"url": url, "text": text}) + "\n")
    recipe = yaml.safe_load((RECIPES_FOLDER / "fineweb.yaml").read_text("utf-8"))
    steps = [step for step in recipe["steps"] if not "".join(step).startswith(OTHER_STEPS)]  # a name, or {name: …}
    recipe |= {"read": [{"jsonl": {"paths": str(inputs), "source": "crawl"}}], "steps": steps, "write": ["parquet"]}
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe), "utf-8")
    run = corpusmill.run(path, folder=folder / "".join(filter(str.isalnum, name)), progress="off")
    listing = Listing(RunTables(run.folder))
    last = dict(listing.facets["outcome"])["kept"]
    dropped_by_dedup = dict(listing.facets["step"]).get("minhash", 0)
    return [f"{last + dropped_by_dedup:,}", f"{last:,}"]


if __name__ == "__main__":
    raise SystemExit(main())
