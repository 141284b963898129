"""Does the quality classifier order real pages as people do?

Pages that people called good or bad, `quality/dclm_human_labels.jsonl.gz` (DCLM's, from Common Crawl), are scored by
the model that ships and by models that `corpusmill train quality` makes here. The measure is the area under the ROC
curve: the chance that a good page scores above a bad one. Length alone is a strong baseline, so it is given, too; with
238 pages, an AUC is known to about 0.03.
"""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.common import Figure, row, table
from corpusmill import assets
from corpusmill.models.quality import QUALITY_EN, QualityModel, Scorer
from corpusmill.train.quality import auc

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
    shipped = Scorer().scores(texts).to_numpy()
    length = np.array([len(page["text"]) for page in pages], np.float64)
    ordered = {"length in characters": length, QUALITY_EN: shipped}
    held: dict[str, Any] = {QUALITY_EN: assets.load(QUALITY_EN, QualityModel.load).card["held_out"]}
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
        above = f"{low:+.3f} to {high:+.3f}" if own else ""
        row(name, f"{auc(scores, good):.3f}", above, f"{auc(scores[agreed], good[agreed]):.3f}", *cells)
    print_thresholds(shipped, good)
    baseline, trained = auc(length, good), auc(ordered[TRAINED], good)
    return [
        Figure("classifier: AUC on labelled pages, the model that ships", auc(shipped, good), "", baseline, digits=3),
        Figure("classifier: AUC on labelled pages, a model trained here", trained, "", baseline, digits=3),
    ]


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
