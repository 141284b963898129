"""Does perplexity separate clean text from garbled text and spam? Half of the real prose trains the model."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.common import Figure, row, table
from corpusmill.schema import DOCUMENT, document_id
from corpusmill.steps.annotate.perplexity import Perplexity
from corpusmill.train.lm import Settings, train

BAR = 0.98  # AUC
PIECE = 200  # words


def run(data: Path, workload: Path | None, scratch: Path) -> list[Figure]:
    """AUC of clean pieces against the same pieces garbled, and against spam."""
    scratch.mkdir(parents=True, exist_ok=True)
    pieces = list(prose(data))
    random = np.random.default_rng(1)
    # Whole works go to one side: pieces of one book would know each other's words.
    works = sorted({work for work, _ in pieces})
    learn = set(random.permutation(np.array(works))[: len(works) // 2].tolist())
    known = [text for work, text in pieces if work in learn]
    clean = [text for work, text in pieces if work not in learn]
    model = train(pa.array(known, pa.large_string()), Settings(), {})
    model.save(scratch / "prose.lm")
    step = Perplexity(model=str(scratch / "prose.lm"))
    print(
        f"## perplexity: trained on {len(known):,} pieces of {PIECE} words, judged on {len(clean):,} of other works\n"
    )
    table("clean against", "pieces", "AUC", "median clean", "median of these")
    base = values(step, clean)
    figures = []
    for name, texts in (
        ("words in another order", [" ".join(random.permutation(text.split())) for text in clean]),
        ("one letter in five gone", [lose(text, random, 0.2) for text in clean]),
        ("one letter in ten gone", [lose(text, random, 0.1) for text in clean]),
        ("spam", spam(data)),
    ):
        perplexities = values(step, texts)
        auc = area(base, perplexities)
        row(name, f"{len(texts):,}", f"{auc:.4f}", f"{np.median(base):,.0f}", f"{np.median(perplexities):,.0f}")
        figures.append(Figure(f"perplexity, clean against {name}: AUC", auc, "", BAR, digits=4))
    print()
    return figures


def prose(data: Path) -> Iterator[tuple[str, str]]:
    """Work and text of every piece of PIECE words of books, encyclopedia and speeches."""
    with gzip.open(data / "text" / "standardebooks_chapters.jsonl.gz", "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            yield from cut(record["id"].partition("/")[0], record["text"])
    for number, text in enumerate(pq.read_table(data / "text" / "wikitext2_valid.parquet").column("text").to_pylist()):
        yield from cut(f"wiki {number}", text or "")
    with gzip.open(data / "text" / "us_inaugural.jsonl.gz", "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            yield from cut(record["id"], record["text"])


def cut(work: str, text: str) -> Iterator[tuple[str, str]]:
    words = text.split()
    for at in range(0, len(words) - PIECE + 1, PIECE):
        yield work, " ".join(words[at : at + PIECE])


def spam(data: Path) -> list[str]:
    """Spam messages of telephones, ten to a piece: alone they have too few words to be judged."""
    with gzip.open(data / "quality" / "sms_spam.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [record["text"] for record in map(json.loads, lines) if record["label"] == "spam"]
    return ["\n".join(texts[i : i + 10]) for i in range(0, len(texts), 10)]


def lose(text: str, random: np.random.Generator, share: float) -> str:
    letters = np.array(list(text))
    return "".join(letters[(random.random(len(letters)) >= share) | (letters == " ")])


def values(step: Perplexity, texts: list[str]) -> NDArray[np.float64]:
    columns = {name: pa.nulls(len(texts), DOCUMENT.field(name).type) for name in DOCUMENT.names}
    columns["id"] = pa.array([document_id("made", str(i)) for i in range(len(texts))])
    columns["text"] = pa.array(texts, pa.large_string())
    perplexities = step.signals(pa.RecordBatch.from_pydict(columns, schema=DOCUMENT))["value"]
    return np.asarray(perplexities.drop_null().to_numpy(zero_copy_only=False))


def area(low: NDArray[np.float64], high: NDArray[np.float64]) -> float:
    """How often one of `high` is above one of `low`, equal ones half: the area under the ROC curve."""
    order = np.sort(low)
    below = np.searchsorted(order, high, "left") + np.searchsorted(order, high, "right")
    return float(below.mean() / (2 * len(low)))
