"""Do the model and the list of filter/toxicity see what people call toxic, and do they leave the rest alone?

Labelled texts, all short: tweets (Davidson et al. 2017), comments of which most are toxic (SemEval 2021 task 5, "toxic
spans"), comments half of which are (Surge AI), and made cases in which words mislead (HateCheck). Ordinary text: pages
of a crawl that lid.176 calls English, and passages of novels. Some pages do contain what the rules look for.

The model has learned from three texts in five of the first three sets, the bounds and all else were chosen on a fifth
of them, on 12 of HateCheck's 29 functionalities and on half of the pages by domain; the figures are those of the rest:
a fifth of the texts, the other functionalities, the other domains. HateCheck's other 17 were measured three times on
the way, and phrases for denied praise, reported speech and reclaimed slurs were added to the made sentences after the
first (AUC .714, then .785 and .778), so they are not untouched. Passages of novels that the demo crawl has, from which
the model learned too, are left out.
"""

import csv
import gzip
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmarks.common import Figure, row, table
from benchmarks.quality.perplexity import area
from corpusmill.assets import demo_path
from corpusmill.models.language import Identifier
from corpusmill.models.toxicity import Rater
from corpusmill.read import ReadCounts, whole_file
from corpusmill.read.wet import WetReader
from corpusmill.steps.filter.toxicity import FilterToxicity, counted
from corpusmill.steps.verdict import rules_of
from corpusmill.storage import expand

CRAWL = "warc/crawl/*.warc.wet.gz"
NOVELS = "text/standardebooks_chapters.jsonl.gz"
PASSAGE = 300  # words
SHARE, SCORE = FilterToxicity.max_share or 0.0, FilterToxicity.max_score or 1.0
SURE = 0.65  # the score from which a page is taken for English
RULES = (
    *(("share", bound) for bound in (0.0, 0.001, 0.005, 0.01)),
    *(("score", bound) for bound in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)),
    *(("worst", bound) for bound in (0.7, 0.9, 0.95)),
    *(("bad", bound) for bound in (0.05, 0.1)),
)
DEVELOPMENT = frozenset(
    """counter_quote_nh derog_dehum_h derog_neg_emote_h ident_pos_nh negate_neg_nh phrase_question_h profanity_nh
    ref_subs_clause_h spell_char_del_h spell_leet_h target_group_nh threat_dir_h""".split()
)
TESTED = 4  # of the remainders of five, see scripts/make_toxicity.py
# F1 on the same parts of the model of single words and the bounds that shipped before (alt-profanity-check 1.9.1, whose
# training data has the tweets).
F1_BEFORE = {"tweets": 0.944, "toxic spans": 0.585, "Surge": 0.500, "HateCheck": 0.471}
# And the share of these cases that they dropped.
DROPPED_BEFORE = {"counter_quote_nh": 42.31, "counter_ref_nh": 40.54, "slur_reclaimed_nh": 80.65}
HATE_AUC, PAGES_DROPPED, NOVELS_DROPPED = 0.75, 0.5, 1.0
OVERLAP = 10  # words that a passage shares with the demo


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
        signals["counted"] = counted(signals)
        return {name: pc.fill_null(pc.cast(column, pa.float64()), 0.0).to_numpy() for name, column in signals.items()}

    def caught(self, signal: str, bound: float) -> NDArray[np.bool_]:
        return self.signals[signal] > bound

    def by_default(self) -> NDArray[np.bool_]:
        step = FilterToxicity()
        bounds = [(rule.signal, getattr(step, rule.parameter)) for rule in rules_of(step)]
        hits = [self.caught(name, bound) for name, bound in bounds if bound is not None]
        hit: NDArray[np.bool_] = np.logical_or.reduce(hits)
        return hit


def run(data: Path, workload: Path | None, scratch: Path) -> list[Figure]:
    print("## toxicity: the test parts\n")
    every = hatecheck(data)
    labelled = [tested(of) for of in (tweets(data), spans(data), comments(data), every)]
    ordinary = [pages(data), novels(data)]
    table("set", "texts", "toxic", "other")
    for of in (*labelled, *ordinary):
        row(of.name, f"{len(of.texts):,}", f"{of.toxic.sum():,}", f"{(~of.toxic).sum():,}")
    print("\nF1 of the labelled sets, in brackets precision and recall; share of ordinary text that would go:\n")
    table("dropped above", *(of.name for of in (*labelled, *ordinary)))
    for signal, bound in RULES:
        print_row(f"{signal} {bound}", labelled, ordinary, lambda of, s=signal, b=bound: of.caught(s, b))  # type: ignore[misc]
    print_row("filter/toxicity as it is", labelled, ordinary, Labelled.by_default)
    print("\nHateCheck: share of the cases that would go, and AUC of the score against the cases of the other label\n")
    table("case", "part", "texts", f"share > {SHARE}", f"score > {SCORE}", "either", "AUC")
    print_cases(every)
    print()
    figures = [
        Figure(f"toxicity: F1 on {of.name}", measure(of, of.by_default())[2], "", F1_BEFORE[of.name], digits=3)
        for of in labelled
    ]
    for name, of in (("test functionalities", labelled[-1]), ("all functionalities", every)):
        auc = area(of.signals["score"][~of.toxic], of.signals["score"][of.toxic])
        figures.append(Figure(f"toxicity: AUC on HateCheck, {name}", auc, "", HATE_AUC, digits=3))
    for case, before in DROPPED_BEFORE.items():
        dropped = 100 * float(every.by_default()[np.array(every.kinds) == case].mean())
        figures.append(Figure(f"toxicity: HateCheck's {case} that would go", dropped, "%", before + 0.01, "below"))
    harmless = 100 * float(every.by_default()[~every.toxic].mean())
    figures.append(Figure("toxicity: false alarms on HateCheck's cases that are not hateful", harmless, "%"))
    for of, bar in zip(ordinary, (PAGES_DROPPED, NOVELS_DROPPED), strict=True):
        dropped = 100 * float(of.by_default().mean())
        figures.append(Figure(f"toxicity: {of.name} that would go", dropped, "%", bar, "below"))
    return figures


def tested(of: Labelled) -> Labelled:
    """The part that nothing was learned from."""
    if of.kinds:
        mine = np.array([kind not in DEVELOPMENT for kind in of.kinds])
    else:
        mine = np.array([hashlib.sha256(text.encode()).digest()[0] % 5 == TESTED for text in of.texts])
    kinds = tuple(kind for kind, it_is in zip(of.kinds, mine.tolist(), strict=False) if it_is)
    return Labelled(of.name, [text for text, it_is in zip(of.texts, mine, strict=True) if it_is], of.toxic[mine], kinds)


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
    for kind, texts in sorted(Counter(of.kinds).items()):
        here = kinds == kind
        cells = (of.caught("share", SHARE), of.caught("score", SCORE), of.by_default())
        scores = of.signals["score"]
        toxic = bool(of.toxic[here][0])
        auc = area(scores[~of.toxic], scores[here]) if toxic else area(scores[here], scores[of.toxic])
        part = "development" if kind in DEVELOPMENT else "test"
        row(kind, part, texts, *(f"{100 * cell[here].mean():.0f} %" for cell in cells), f"{auc:.2f}")


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
    """Those of the test half of the domains."""
    texts: list[str] = []
    for path in expand(str(data / CRAWL)):
        for batch in WetReader().read(whole_file(path), "crawl", ReadCounts()):
            language = Identifier().columns(batch["text"])
            english = pc.and_(pc.equal(language["label"], "en"), pc.greater_equal(language["score"], SURE))
            hosts = [urlsplit(url or "").hostname or "" for url in batch["url"].to_pylist()]
            mine = pa.array([hashlib.sha256(host.encode()).digest()[0] % 2 == 1 for host in hosts])
            texts += batch["text"].filter(pc.and_(mine, pc.fill_null(english, False))).to_pylist()
    return Labelled("pages", texts, np.zeros(len(texts), bool))


def novels(data: Path) -> Labelled:
    known = {run for text in demo_texts() for run in word_runs(text)}
    texts = []
    for record in records(data / NOVELS):
        words = record["text"].split(" ")
        passages = [" ".join(words[at : at + PASSAGE]) for at in range(0, len(words) - PASSAGE // 2, PASSAGE)]
        texts += [passage for passage in passages if known.isdisjoint(word_runs(passage))]
    return Labelled("novels", texts, np.zeros(len(texts), bool))


def demo_texts() -> Iterator[str]:
    with gzip.open(demo_path("demo://extra.jsonl.gz"), "rb") as lines:
        for line in lines:
            try:
                yield str(orjson.loads(line)["text"])
            except (ValueError, KeyError, TypeError):
                continue  # planted


def word_runs(text: str) -> Iterator[tuple[str, ...]]:
    words = text.split()
    return zip(*(words[at:] for at in range(OVERLAP)), strict=False)


def records(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise SystemExit(f"{path}: not there. Name the folder of labelled documents with --data.")
    with gzip.open(path) as lines:
        for line in lines:
            yield orjson.loads(line)
