"""Are questions of benchmarks found, and nothing else? Real pages into which items were put, in seven ways.

Contaminated are those with a question, whole or its first 60 %, with its answer or without, in other case, white space
and punctuation, with typos in 5 % of the words, escaped as in HTML, or ten in a row. Not contaminated are those with an
answer alone, and those with nothing.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, takewhile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmarks import samples
from benchmarks.common import Figure, Workload, row, table
from benchmarks.quality import made_decontam, made_templates, unspaced_decontam
from corpusmill.schema import DOCUMENT, document_id
from corpusmill.steps.decontaminate.ngrams import Ngrams

PRECISION, RECALL, TYPOS = 0.99, 0.98, 0.97  # recall: of each way
BOUNDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
OTHERS = (13, 10, 8, 7, 6)  # words of an n-gram
SHOWN = 12  # false alarms and misses
AHEAD = (60, 1)  # characters by which the text behind a cut is known again; one, where there is another cut so near


@dataclass(frozen=True)
class Pages:
    """The labelled pages.

    batch    as documents
    modes    (pages,) how each was contaminated, or not
    bad      (pages,) whether that counts
    asked    (pages,) the items that were put into each
    spans    (pages,) first character and end of what was put in; (0, 0) where nothing was
    """

    batch: pa.RecordBatch
    modes: list[str]
    bad: NDArray[np.bool_]
    asked: list[set[str]]
    spans: list[tuple[int, int]]

    @classmethod
    def read(cls, path: Path) -> "Pages":
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        names = [entry["id"] for entry in rows]
        columns = {name: pa.nulls(len(rows), DOCUMENT.field(name).type) for name in DOCUMENT.names} | {
            "id": pa.array([document_id("pages", name) for name in names]),
            "source": pa.array(["pages"] * len(rows)),
            "file": pa.array([path.name] * len(rows)),
            "position": pa.array(range(len(rows)), pa.int64()),
            "text": pa.array([entry["text"] for entry in rows], pa.large_string()),
        }
        return cls(
            pa.RecordBatch.from_pydict(columns, schema=DOCUMENT),
            [entry["mode"] for entry in rows],
            np.array([entry["contaminated"] for entry in rows]),
            [{item["eval_id"] for item in entry["items"]} for entry in rows],
            [tuple(entry.get("span") or (0, 0)) for entry in rows],
        )

    @classmethod
    def of(cls, documents: list[made_decontam.Made]) -> "Pages":
        columns = {name: pa.nulls(len(documents), DOCUMENT.field(name).type) for name in DOCUMENT.names}
        columns["text"] = pa.array([document.text for document in documents], pa.large_string())
        return cls(
            pa.RecordBatch.from_pydict(columns, schema=DOCUMENT),
            [document.mode for document in documents],
            np.array([document.bad for document in documents]),
            [set(document.items) for document in documents],
            [document.span for document in documents],
        )


@dataclass(frozen=True)
class Found:
    """What a step finds in the pages: `overlap`, (pages,), and the items with enough of it."""

    pages: Pages
    step: Ngrams

    @cached_property
    def batch(self) -> pa.RecordBatch:
        return self.step.transform(self.pages.batch)

    @cached_property
    def overlap(self) -> NDArray[np.float64]:
        overlaps: NDArray[np.float64] = self.batch["overlap"].to_numpy()
        return overlaps

    def scores(self, bound: float) -> tuple[float, float]:
        """Precision and recall of dropping at this overlap."""
        dropped = self.overlap >= bound
        right = int((dropped & self.pages.bad).sum())
        return right / max(int(dropped.sum()), 1), right / int(self.pages.bad.sum())


def run(data: Path, workload: Path | None, scratch: Path) -> list[Figure]:
    path, items = data / "decontam" / "contaminated_docs.jsonl.gz", data / "eval" / "normalized"
    if not path.is_file() or not items.is_dir():
        raise SystemExit(f"{path}, {items}: not there. Name the folder of labelled documents with --data.")
    pages, step = Pages.read(path), Ngrams(benchmarks=str(items))
    judged = Found(pages, step)
    known = len(step._items().id)
    print(f"## decontamination: {len(pages.modes):,} pages, {known:,} items, the step's defaults\n")
    by_mode(judged)
    by_bound(pages, step)
    cutting(pages, replace(step, action="cut"))
    wrong(judged)
    if workload:
        ordinary(Workload.open(workload), step)
    assert step.min_overlap is not None
    figures = bars("labelled pages", judged, ("typos_5pct",))
    for part in ("development", "test"):
        figures += on_made(data, step, part)
    for part in made_templates.SEEDS:
        figures += on_templates(data, step, part, scratch)
    return figures + on_unspaced(data, step, scratch)


def bars(name: str, judged: Found, typos: tuple[str, ...], apart: tuple[str, ...] = ()) -> list[Figure]:
    """Precision, recall of the ways with typing errors, and of the way that is found least; `apart`: not counted."""
    pages = judged.pages
    dropped = judged.overlap >= (judged.step.min_overlap or 0)
    counted = np.array([mode not in apart for mode in pages.modes])
    right = int((dropped & pages.bad).sum())
    share = {
        mode: float(dropped[[i for i, other in enumerate(pages.modes) if other == mode]].mean())
        for mode in dict.fromkeys(np.array(pages.modes)[pages.bad].tolist())
    }
    title = f"decontamination, {name}"
    return [
        Figure(f"{title}: precision", right / int((dropped & counted).sum()), "", PRECISION, digits=4),
        Figure(f"{title}: recall", right / int(pages.bad.sum()), "", RECALL, digits=4),
        *(Figure(f"{title}: recall, {mode}", share.pop(mode), "", TYPOS, digits=4) for mode in typos),
        Figure(f"{title}: recall, the least of the other ways", min(share.values()), "", RECALL, digits=4),
    ]


def on_made(data: Path, step: Ngrams, part: str) -> list[Figure]:
    """Documents made for this: see made_decontam.py. With what was found before there was a look at wrong words."""
    documents = made_decontam.made(data, part)
    pages = Pages.of(documents)
    judged, exact = Found(pages, step), Found(pages, replace(step, misspelt=False, shortest=8))
    print(f"## decontamination: {len(documents):,} documents made for this, the {part} part\n")
    table("way", "contaminated", "documents", "dropped", "share", "without `misspelt`, `shortest` 8")
    least = step.min_overlap or 0
    for mode, here in made_decontam.by_mode(documents):
        bad = "not counted" if mode in made_decontam.APART else "yes" if pages.bad[here[0]] else "no"
        gone, before = int((judged.overlap[here] >= least).sum()), float((exact.overlap[here] >= least).mean())
        row(mode, bad, len(here), gone, f"{gone / len(here):.3f}", f"{before:.3f}")
    print()
    wrong(judged, made_decontam.APART)
    return bars(f"made documents, {part}", judged, made_decontam.TYPOS, made_decontam.APART)


def on_templates(data: Path, step: Ngrams, part: str, scratch: Path) -> list[Figure]:
    """Benchmarks whose items share a template: see made_templates.py."""
    named = made_templates.write(data / "eval" / "normalized", part, scratch / part.replace(" ", "-"))
    documents = made_templates.made(data, part)
    judged = Found(Pages.of(documents), replace(step, benchmarks=named))
    print(f"## decontamination: {len(documents):,} documents, items with a template made for this, {part}\n")
    table("way", "contaminated", "documents", "dropped", "share", "of them by a template")
    by_template = np.array([bool(hits and hits[0]["template"]) for hits in judged.batch["hits"].to_pylist()])
    dropped = judged.overlap >= (step.min_overlap or 0)
    for mode in dict.fromkeys(judged.pages.modes):
        here = np.array(judged.pages.modes) == mode
        bad = "not counted" if mode in made_templates.APART else "yes" if judged.pages.bad[here].all() else "no"
        gone = int(dropped[here].sum())
        row(mode, bad, int(here.sum()), gone, f"{gone / here.sum():.3f}", int((dropped & by_template)[here].sum()))
    print()
    wrong(judged, made_templates.APART)
    return bars(f"made templates, {part}", judged, made_templates.TYPOS, made_templates.APART)


def on_unspaced(data: Path, step: Ngrams, scratch: Path) -> list[Figure]:
    """Questions in scripts without spaces: see unspaced_decontam.py. Nothing was chosen by them."""
    path, documents = unspaced_decontam.made(data, scratch)
    judged = Found(Pages.of(documents), replace(step, benchmarks=str(path), answer=None))
    print(f"## decontamination: {len(documents):,} documents in scripts without spaces\n")
    table("way", "contaminated", "documents", "dropped", "share")
    dropped = judged.overlap >= (judged.step.min_overlap or 0)
    for mode in dict.fromkeys(judged.pages.modes):
        here = np.array(judged.pages.modes) == mode
        bad = "yes" if judged.pages.bad[here].all() else "no"
        row(mode, bad, int(here.sum()), int(dropped[here].sum()), f"{dropped[here].mean():.3f}")
    print()
    wrong(judged)
    return bars("scripts without spaces", judged, ())


def by_mode(judged: Found) -> None:
    """How many pages of each mode are dropped, and how many of the items in them are named."""
    table("mode", "contaminated", "pages", "dropped", "share", "items", "named", "share")
    hits = judged.batch["hits"].to_pylist()
    dropped = judged.overlap >= (judged.step.min_overlap or 0)
    for mode, pages in sorted(Counter(judged.pages.modes).items()):
        here = [i for i, other in enumerate(judged.pages.modes) if other == mode]
        gone = int(dropped[here].sum())
        asked = sum(len(judged.pages.asked[i]) for i in here)
        named = sum(len(judged.pages.asked[i] & {hit["item"] for hit in hits[i] or ()}) for i in here)
        bad = "yes" if judged.pages.bad[here[0]] else "no"
        row(mode, bad, pages, gone, f"{gone / pages:.3f}", asked, named, f"{named / asked:.3f}" if asked else "")
    print()


def by_bound(pages: Pages, step: Ngrams) -> None:
    """Precision and recall by the length of n-grams and the bound, and without a rule for boilerplate."""
    print("Precision / recall by `ngram` (`shortest` the same, but 8 at most) and `min_overlap`:\n")
    table("", *(f"{bound:g}" for bound in BOUNDS))
    for n in OTHERS:
        judged = Found(pages, replace(step, ngram=n, shortest=min(n, 8)))
        row(f"{n} words", *said(judged))
    for common in (1, 3, 100, 10_000):
        row(f"8 words, `common` {common:,}", *said(Found(pages, replace(step, common=common))))
    row("8 words, `shortest` 5", *said(Found(pages, replace(step, shortest=5))))
    print()
    print("With `require_answer`, pages dropped:\n")
    strict = Found(pages, replace(step, require_answer=True))
    dropped = Counter(mode for mode, overlap in zip(pages.modes, strict.overlap) if overlap >= (step.min_overlap or 0))
    table("mode", "pages", "dropped")
    for mode in ("exact_q", "exact_q_and_a", "answer_only", "clean"):
        row(mode, pages.modes.count(mode), dropped[mode])
    print()


def said(judged: Found) -> Iterator[str]:
    for bound in BOUNDS:
        precision, recall = judged.scores(bound)
        yield f"{precision:.3f} / {recall:.3f}"


def cutting(pages: Pages, step: Ngrams) -> None:
    """How much of what was put in a cut takes out, and how much of the rest goes with it."""
    print("Cutting, by `margin`: characters of what was put in that go, and of the rest of those pages\n")
    table("margin", "put in", "cut", "the rest", "cut with it")
    for margin in (0, 10, 30):
        left = replace(step, margin=margin).transform(pages.batch)["text"].to_pylist()
        inside = rest = gone_inside = gone_rest = 0
        for text, after, (start, stop), bad in zip(pages.batch["text"].to_pylist(), left, pages.spans, pages.bad):
            if bad:
                mask = kept(text, after or "")
                inside += stop - start
                rest += len(text) - (stop - start)
                gone_inside += int((~mask[start:stop]).sum())
                gone_rest += int((~mask[:start]).sum() + (~mask[stop:]).sum())
        row(f"{margin} words", f"{inside:,}", f"{gone_inside / inside:.3f}", f"{rest:,}", f"{gone_rest / rest:.4f}")
    print()


def kept(text: str, after: str) -> NDArray[np.bool_]:
    """(characters,) which of a text are kept: `after` is the text without a few spans, but for some characters either
    side of one where the text before and behind it is alike."""
    mask = np.zeros(len(text), bool)
    start = at = 0
    while at < len(after):
        same = (one == other for one, other in zip(islice(text, start, None), islice(after, at, None)))
        size = sum(takewhile(bool, same))
        mask[start : start + size] = True
        start, at = start + size, at + size
        start = next(place for ahead in AHEAD if (place := text.find(after[at : at + ahead], start)) >= 0)
    return mask


def wrong(judged: Found, apart: tuple[str, ...] = ()) -> None:
    """The pages that are dropped and should not be, and those that should be and are not."""
    dropped = judged.overlap >= (judged.step.min_overlap or 0)
    dropped &= np.array([mode not in apart for mode in judged.pages.modes])
    rows = judged.batch.select(["text", "overlap", "item", "passage"]).to_pylist()
    print("Dropped, and not contaminated:\n")
    for i in np.flatnonzero(dropped & ~judged.pages.bad)[:SHOWN].tolist():
        print(f"- {judged.pages.modes[i]}, {rows[i]['item']}, {rows[i]['overlap']:.2f}: {one_line(rows[i]['passage'])}")
    print("\nContaminated, and not dropped:\n")
    for i in np.flatnonzero(~dropped & judged.pages.bad)[:SHOWN].tolist():
        start, stop = judged.pages.spans[i]
        about = f"{judged.pages.modes[i]}, {', '.join(sorted(judged.pages.asked[i]))}, {rows[i]['overlap']:.2f}"
        print(f"- {about}: {one_line(rows[i]['text'][start:stop])}")
    print()


def one_line(text: str) -> str:
    return " ".join(text.split())[:100]


def ordinary(workload: Workload, step: Ngrams) -> None:
    """How many documents of the workload would go, by the words of the shortest question that is looked for."""
    print("Documents of the workload that would go, by `shortest`, out of the first file:\n")
    batches = samples.read(workload.files[0])
    table("shortest", "documents", "dropped")
    for shortest in (8, 6, 5, 4, 3):
        loose = replace(step, shortest=shortest)
        overlaps = [loose.transform(batch)["overlap"] for batch in batches]
        dropped = sum(pc.sum(pc.greater_equal(column, step.min_overlap)).as_py() for column in overlaps)
        row(shortest, f"{sum(map(len, batches)):,}", dropped)
    print()
