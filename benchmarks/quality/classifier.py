"""Does the quality classifier order real pages as people do?

Pages that people called good or bad, `quality/dclm_human_labels.jsonl.gz` (DCLM's, from Common Crawl), are scored by
models that are made as the one that ships is (scripts/train_quality.py), each without a tenth of the pages, which it
then scores; and by models that `corpusmill train quality` makes of other sets. The measure is the area under the ROC
curve: the chance that a good page scores above a bad one. Length alone is a strong baseline, so it is given, too; with
238 pages, an AUC is known to about 0.03. The model that ships itself is asked about kinds of documents, in the parts
that it was not trained on: dev, by which its training was chosen, and test.
"""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.common import ROOT, Figure, row, table
from corpusmill import assets
from corpusmill.models.quality import QUALITY_EN, QualityModel, Scorer
from corpusmill.train.quality import QualitySettings, auc, fit

sys.path.insert(0, str(ROOT / "scripts"))
import train_quality

LABELLED = "quality/dclm_human_labels.jsonl.gz"
WIKI, LOW = "quality/cs336_high_quality_wiki_reference.txt.gz", "quality/cs336_low_quality_cc.txt.gz"
CRAWL = "warc/crawl/*.warc.wet.gz"
SPAM = ("quality/sms_spam.jsonl.gz", "quality/spamassassin_mail.jsonl.gz")
TRAINED = "cs336 high against low"
THRESHOLDS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98)


def run(data: Path, workload: Path | None, scratch: Path) -> list[Figure]:
    scratch.mkdir(parents=True, exist_ok=True)
    pages = list(records(data / LABELLED))
    texts = pa.array([page["text"] for page in pages], pa.large_string())
    good = np.array([page["label"] == 1 for page in pages])
    agreed = np.array([bool(page["annotators_agree"]) for page in pages])
    print("## classifier\n")
    print(f"{len(pages)} pages, {good.sum()} of them good; of {agreed.sum()} pages the annotators agree.\n")
    labels = train_quality.labelled(data)
    assert labels.texts == texts.to_pylist()
    shipped, by_shape = train_quality.cross_validated(labels, train_quality.others(data))
    length = np.array([len(page["text"]) for page in pages], np.float64)
    alone = labels_alone(labels)
    statistics, by_labels = "statistics of characters, words, lines", "the labelled pages alone"
    ordered: dict[str, NDArray[Any]] = {
        "length in characters": length,
        statistics: by_shape,
        by_labels: alone,
        QUALITY_EN: shipped,
    }
    held: dict[str, Any] = {}
    for name, (well, ill) in examples(data, scratch).items():
        for said, options in ((name, ()), (f"{name}, --no-length", ("--no-length",))):
            model = scratch / f"{len(held)}.quality"
            held[said] = train(well, ill, model, *options)["held_out"]
            ordered[said] = Scorer(model=str(model)).scores(texts).to_numpy()
    table(
        "ordered by",
        "AUC",
        "above length, 95 %",
        "AUC where they agree",
        "of its own held-out documents",
        "length, of these",
    )
    for name, scores in ordered.items():
        own = held.get(name)
        cells = (f"{own['auc']:.3f}", f"{own['length_auc']:.3f}") if own else ("", "")
        low, high = beyond(scores, length, good)
        above = f"{low:+.3f} to {high:+.3f}" if name != "length in characters" else ""
        row(name, f"{auc(scores, good):.3f}", above, f"{auc(scores[agreed], good[agreed]):.3f}", *cells)
    print_thresholds(shipped, good)
    kinds = print_kinds(data)
    simple = max(auc(length, good), auc(by_shape, good))
    trained = auc(ordered[TRAINED], good)
    return [
        Figure("classifier: AUC on labelled pages, made as what ships", auc(shipped, good), "", 0.88, digits=3),
        Figure("classifier: AUC on labelled pages, trained on them alone", auc(alone, good), "", simple, digits=3),
        Figure("classifier: AUC on labelled pages, trained on cs336", trained, "", auc(length, good), digits=3),
        Figure("classifier: programming questions of 0.5 or more, test", kinds["questions"], "", 0.8, digits=2),
        Figure("classifier: ruins of scanned print below 0.5, test", 1 - kinds["ruins"], "", 0.8, digits=2),
    ]


def labels_alone(labels: train_quality.Examples) -> NDArray[np.float32]:
    """(pages,) scores by models that `corpusmill train quality` would make of the other nine tenths."""
    texts = pa.array(labels.texts, pa.large_string())
    scores = np.empty(len(texts), np.float32)
    for out in train_quality.folds_of(texts):
        model = QualityModel({}, fit(texts.filter(pa.array(~out)), labels.good[~out], QualitySettings()))
        scores[out] = model.scores(texts.filter(pa.array(out)))
    return scores


def print_kinds(data: Path) -> dict[str, float]:
    """Print how the model that ships scores kinds of documents; returns the share of 0.5 or more in the test parts."""
    model = assets.load(QUALITY_EN, QualityModel.load)
    print(f"Kinds of documents by the score of {QUALITY_EN}, the model that ships:\n")
    table("kind", "part", "documents", "median score", "of 0.5 or more")
    shares: dict[str, float] = {}
    parts: tuple[Literal["dev", "test"], ...] = ("dev", "test")
    for part in parts:
        for kind, score in train_quality.by_kind(model, data, part).items():
            shares[kind] = float((score >= 0.5).mean())
            row(kind, part, len(score), f"{np.median(score):.2f}", f"{100 * shares[kind]:.0f} %")
    print()
    return shares


def examples(data: Path, scratch: Path) -> dict[str, tuple[list[str], list[str]]]:
    """What models are trained on: name -> good and bad paths."""
    spam = scratch / "spam.jsonl"
    with spam.open("wb") as file:
        for name in SPAM:
            marked = (record for record in records(data / name) if record["label"] == "spam")
            file.writelines(orjson.dumps({"text": body(record["text"])}) + b"\n" for record in marked)
    wiki, low, crawl = (str(data / name) for name in (WIKI, LOW, CRAWL))
    return {
        TRAINED: ([wiki], [low]),
        "cs336 high against low and spam": ([wiki], [low, str(spam)]),
        "cs336 high against low, spam and a crawl": ([wiki], [low, str(spam), crawl]),
    }


def body(mail: str) -> str:
    """A mail without its head, whose lines would give it away."""
    head, blank, rest = mail.partition("\n\n")
    return rest if blank and "\nReceived:" in head else mail


def beyond(scores: NDArray[Any], length: NDArray[np.float64], good: NDArray[np.bool_]) -> tuple[float, float]:
    """How much larger the AUC is than that of length: 95 % of it, over pages drawn anew (paired bootstrap)."""
    random = np.random.default_rng(0)
    differences: list[float] = []
    while len(differences) < 1000:
        drawn = random.integers(0, len(good), len(good))
        if 0 < good[drawn].sum() < len(good):
            differences.append(auc(scores[drawn], good[drawn]) - auc(length[drawn], good[drawn]))
    low, high = np.quantile(differences, (0.025, 0.975))
    return float(low), float(high)


def train(good: list[str], bad: list[str], out: Path, *options: str) -> dict[str, Any]:
    """The card of a model made by the command."""
    paths = [word for kind, named in (("--good", good), ("--bad", bad)) for path in named for word in (kind, path)]
    command = [
        sys.executable,
        "-m",
        "corpusmill.cli",
        "train",
        "quality",
        *paths,
        "--out",
        str(out),
        "--json",
        *options,
    ]
    done = subprocess.run([*command, "--documents", "line"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    card = json.loads(done.stdout)
    assert isinstance(card, dict)
    return card


def print_thresholds(scores: NDArray[np.float32], good: NDArray[np.bool_]) -> None:
    print(f"\nThe labelled pages by the score of {QUALITY_EN}:\n")
    table("score at least", "good pages kept", "bad pages kept", "good among the kept")
    for threshold in (0.0, *THRESHOLDS):
        kept = scores >= threshold
        cells = (kept[good].mean(), kept[~good].mean(), good[kept].mean())
        row(threshold, *(f"{100 * float(cell):.0f} %" for cell in cells))
    print()


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path) as lines:
        for line in lines:
            yield orjson.loads(line)
