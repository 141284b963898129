"""Do the model of words and the list of filter/toxicity see what people call toxic, and do they leave the rest alone?

Labelled texts, all short: tweets (Davidson et al. 2017; the model that ships was trained on them, so its figure there
proves nothing), comments of which most are toxic (SemEval 2021 task 5, "toxic spans"), comments half of which are
(Surge AI), and made cases in which words mislead (HateCheck). Ordinary text: pages of a crawl that lid.176 calls
English, and passages of novels. What the list finds in pages is there, and mostly meant as such; a high score of a
passage of a novel is an error.
"""

import csv
import gzip
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmarks.common import Figure, row, table
from corpusmill.models.language import Identifier
from corpusmill.models.toxicity import Rater
from corpusmill.read import Tally, whole
from corpusmill.read.wet import Wet
from corpusmill.steps.filter.toxicity import Toxicity
from corpusmill.storage import expand

CRAWL = "warc/crawl/*.warc.wet.gz"
NOVELS = "text/standardebooks_chapters.jsonl.gz"
PASSAGE = 300  # words
SHARE, SCORE = Toxicity.max_share or 0.0, Toxicity.max_score or 1.0
SURE = 0.65  # the score from which a page is taken for English
RULES = (
    *(("share", bound) for bound in (0.0, 0.001, 0.002, 0.005)),
    *(("score", bound) for bound in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)),
    *(("worst", bound) for bound in (0.7, 0.9, 0.95)),
    *(("bad", bound) for bound in (0.05, 0.1)),
)


@dataclass(frozen=True)
class Labelled:
    """Texts, and (texts,) whether people call them toxic."""

    name: str
    texts: list[str]
    toxic: NDArray[np.bool_]
    kinds: tuple[str, ...] = ()  # of each text, where they have some

    @cached_property
    def signals(self) -> dict[str, NDArray[np.float64]]:
        signals = Rater().columns(pa.array(self.texts, pa.large_string()), spans=False)
        return {name: pc.fill_null(pc.cast(column, pa.float64()), 0.0).to_numpy() for name, column in signals.items()}

    def caught(self, signal: str, bound: float) -> NDArray[np.bool_]:
        return self.signals[signal] > bound

    def by_default(self) -> NDArray[np.bool_]:
        step = Toxicity()
        bounds = [(rule.signal, getattr(step, rule.parameter)) for rule in step.RULES]
        hits = [self.caught(name, bound) for name, bound in bounds if bound is not None]
        hit: NDArray[np.bool_] = np.logical_or.reduce(hits)
        return hit


def run(data: Path, workload: Path | None, scratch: Path) -> list[Figure]:
    print("## toxicity\n")
    labelled = [tweets(data), spans(data), comments(data), hatecheck(data)]
    ordinary = [pages(data), novels(data)]
    table("set", "texts", "toxic", "other")
    for of in (*labelled, *ordinary):
        row(of.name, f"{len(of.texts):,}", f"{of.toxic.sum():,}", f"{(~of.toxic).sum():,}")
    print("\nF1 of the labelled sets, in brackets precision and recall; share of ordinary text that would go:\n")
    table("dropped above", *(of.name for of in (*labelled, *ordinary)))
    for signal, bound in RULES:
        print_row(f"{signal} {bound}", labelled, ordinary, lambda of, s=signal, b=bound: of.caught(s, b))  # type: ignore[misc]
    print_row("filter/toxicity as it is", labelled, ordinary, Labelled.by_default)
    print("\nHateCheck, cases that are not hateful: share that would go\n")
    table("case", "texts", f"share > {SHARE}", f"score > {SCORE}", "either")
    print_cases(labelled[-1])
    print()
    by_name = {of.name: of for of in (*labelled, *ordinary)}
    figures = [Figure(f"toxicity: F1 on {of.name}", measure(of, of.by_default())[2], "", digits=3) for of in labelled]
    harmless = ~by_name["HateCheck"].toxic
    alarms = float(by_name["HateCheck"].by_default()[harmless].mean())
    figures.append(Figure("toxicity: false alarms on HateCheck's cases that are not hateful", 100 * alarms, "%"))
    for of in ordinary:
        figures.append(Figure(f"toxicity: {of.name} that would go", 100 * float(of.by_default().mean()), "%"))
        by_score = 100 * float(of.caught("score", SCORE).mean())
        figures.append(Figure(f"toxicity: {of.name} that would go by their score", by_score, "%", 1.0, "below"))
    return figures


def print_row(
    name: str, labelled: list[Labelled], ordinary: list[Labelled], catch: Callable[[Labelled], NDArray[np.bool_]]
) -> None:
    cells = []
    for of in labelled:
        precision, recall, f1 = measure(of, catch(of))
        cells.append(f"{f1:.3f} ({precision:.2f}, {recall:.2f})")
    row(name, *cells, *(f"{100 * catch(of).mean():.2f} %" for of in ordinary))


def measure(of: Labelled, caught: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Precision, recall, F1."""
    right = float((caught & of.toxic).sum())
    precision, recall = right / max(int(caught.sum()), 1), right / int(of.toxic.sum())
    return precision, recall, 2 * right / int(caught.sum() + of.toxic.sum())


def print_cases(of: Labelled) -> None:
    kinds = np.array(of.kinds)
    for kind, texts in sorted(Counter(kinds[~of.toxic].tolist()).items()):
        here = (kinds == kind) & ~of.toxic
        cells = (of.caught("share", SHARE), of.caught("score", SCORE), of.by_default())
        row(kind, texts, *(f"{100 * cell[here].mean():.0f} %" for cell in cells))


def tweets(data: Path) -> Labelled:
    rows = list(records(data / "toxicity/davidson_tweets.jsonl.gz"))
    toxic = [record["label"] != "neither" for record in rows]
    return Labelled("tweets", [record["text"] for record in rows], np.array(toxic))


def spans(data: Path) -> Labelled:
    with gzip.open(data / "toxicity/toxic_spans_train.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    toxic = [record["spans"].strip() != "[]" for record in rows]
    return Labelled("toxic spans", [record["text"] for record in rows], np.array(toxic))


def comments(data: Path) -> Labelled:
    rows = list(records(data / "toxicity/surge_toxicity_en.jsonl.gz"))
    toxic = [record["is_toxic"] == "Toxic" for record in rows]
    return Labelled("Surge", [record["text"] for record in rows], np.array(toxic))


def hatecheck(data: Path) -> Labelled:
    rows = list(records(data / "toxicity/hatecheck.jsonl.gz"))
    toxic = [record["label_gold"] == "hateful" for record in rows]
    kinds = tuple(record["functionality"] for record in rows)
    return Labelled("HateCheck", [record["test_case"] for record in rows], np.array(toxic), kinds)


def pages(data: Path) -> Labelled:
    texts: list[str] = []
    for path in expand(str(data / CRAWL)):
        for batch in Wet().read(whole(path), "crawl", Tally()):
            language = Identifier().columns(batch["text"])
            english = pc.and_(pc.equal(language["label"], "en"), pc.greater_equal(language["score"], SURE))
            texts += batch["text"].filter(pc.fill_null(english, False)).to_pylist()
    return Labelled("pages", texts, np.zeros(len(texts), bool))


def novels(data: Path) -> Labelled:
    texts = []
    for record in records(data / NOVELS):
        words = record["text"].split(" ")
        texts += [" ".join(words[at : at + PASSAGE]) for at in range(0, len(words) - PASSAGE // 2, PASSAGE)]
    return Labelled("novels", texts, np.zeros(len(texts), bool))


def records(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise SystemExit(f"{path}: not there. Name the folder of labelled documents with --data.")
    with gzip.open(path) as lines:
        for line in lines:
            yield orjson.loads(line)
