"""What deduplication finds and what it drops, judged by the exact similarity of all documents.

A run of `dedup/exact` and `dedup/minhash` decides, with numbers folded and punctuation dropped: then a document is one
set, and what the step finds can be told from what that set is. What it should have decided is worked out by
slow_jaccard.py, which shares no code with it, over all pairs of at least 0.5 (of the workload: over those that were
planted). Copies that are equal count once, so a pair is one of two different sets of 5-grams. For each range of
similarity s there are

    pairs       with a similarity in the range
    met         of these, the share that shares a key of a band, and the share that 1 - (1 - s^rows)^bands expects
    settled     of these, the share of which at least one side is gone at the end. From the threshold on that is the
                recall of the result; below it both should be kept, except those that duplicate another document
    documents   with such a duplicate; the share of them that is dropped, or all of whose duplicates in that range are

For s = 1 pairs are copies: documents whose set another one has before them. A document that went as a near copy was
rightly dropped if its similarity with the document kept instead, which was in fact kept, is at least the threshold.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.common import MB, Figure, row, table
from benchmarks.quality.copies import Copies, Judged, check, judged, sets
from benchmarks.quality.slow_jaccard import Alike, Sets, alike, among, jaccard
from corpusmill.execute.processes import Processes
from corpusmill.ops.runs import run as carry_out
from corpusmill.recipe.model import Recipe
from corpusmill.report.run_files import RunFiles
from corpusmill.schema import DOCUMENT, document_id
from corpusmill.steps.dedup.minhash import Minhash, solve

EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
RANGES = ("0.5 to 0.6", "0.6 to 0.7", "0.7 to 0.8", "0.8 to 0.9", "0.9 to 1", "1")
NEAR, NEARER, SAME = 3, 4, 5  # ranges from the default threshold on
SHAPES = ((16, 7), (14, 8), (16, 8), (20, 7), (25, 5), (9, 13))
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)


class Decided(NamedTuple):
    """What a run did with each document: (documents,) each.

    step         that dropped it: 0 none, 1 exact, 2 minhash
    kept         the document kept instead, -1 if it is kept itself
    similarity   with that, as the run says
    cluster      the kept document of its cluster, itself if it has no near copies
    """

    step: NDArray[np.int8]
    kept: NDArray[np.int64]
    similarity: NDArray[np.float64]
    cluster: NDArray[np.int64]


@dataclass
class Counts:
    """By range of similarity, (ranges,) each; sums over sets of documents are those of the counts."""

    pairs: NDArray[np.float64]
    met: NDArray[np.float64]
    expected: NDArray[np.float64]
    settled: NDArray[np.float64]
    passed: NDArray[np.float64]  # that met, and were not settled for all that
    documents: NDArray[np.float64]
    caught: NDArray[np.float64]

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(one + two for one, two in zip(vars(self).values(), vars(other).values())))


@dataclass(frozen=True)
class Drops:
    """What was dropped, and whether rightly.

    copies, found     documents whose text another one has before them, and how many of these `dedup/exact` dropped
    unequal           documents that it dropped for one with another text
    near, true        documents dropped by `dedup/minhash`, and how many of these rightly
    error             the largest difference between a similarity that it states and the true one
    linked, far       documents that connected components of shared keys would drop, without a look at the texts, and
                      how many of these are below the threshold with the kept one
    """

    copies: int
    found: int
    unequal: int
    near: int
    true: int
    error: float
    linked: int
    far: int


def run(data: Path, workload: Path | None, scratch: Path) -> list[Figure]:
    check(data)
    step = Minhash(numbers="fold", punctuation="drop")
    bands, rows = step.shape
    print(f"## dedup: {bands} × {rows}, threshold {step.threshold}\n")
    all_counts: dict[str, Counts] = {}
    all_drops: dict[str, Drops] = {}
    labels: list[tuple[str, ...]] = []
    shaped = {shape: np.zeros((3, len(RANGES))) for shape in SHAPES}  # pairs, met, expected
    kept: list[tuple[str, list[int]]] = []
    table("documents", "number", "MB", "copies", "found", "near copies dropped", "rightly", "by components", "rightly")
    for copies in sets(data, workload):
        members = Sets(copies.texts, step.ngram)
        called = [pair for pairs in copies.labelled.values() for pair in pairs]
        truth = among(members, called, EDGES[0]) if copies.large else alike(members, EDGES[0])
        decided = decide(copies.texts, scratch / "run", near_steps(step.threshold))
        keys = {shape: band_keys(copies.texts, replace(step, bands=shape[0], rows=shape[1])) for shape in SHAPES}
        counts = count(truth, decided, keys[bands, rows], step)
        drops = judge(copies.texts, members, decided, keys[bands, rows], step.threshold)
        for b, r in SHAPES:
            shaped[b, r] += meetings(truth, keys[b, r], b, r)
        labels += judged_pairs(copies, members, decided, step.threshold)
        all_counts[copies.name], all_drops[copies.name] = counts, drops
        size = sum(len(text.encode()) for text in copies.texts) / MB
        cells = (f"{len(copies.texts):,}", f"{size:.1f}", f"{drops.copies:,}", f"{drops.found:,}", f"{drops.near:,}")
        linked = f"{drops.linked:,}", share(drops.linked - drops.far, drops.linked)
        row(copies.name, *cells, share(drops.true, drops.near), *linked)
        if not copies.large:
            kept.append((copies.name, thresholds(copies.texts, scratch / "run")))
    error = max(drops.error for drops in all_drops.values())
    print(f"\nA similarity that a run states differs from the true one by {error:.1g} at most.\n")
    counts = sum(list(all_counts.values())[1:], next(iter(all_counts.values())))
    print_counts(counts, bands, rows)
    print_sets(all_counts)
    print_shapes(shaped)
    print_labels(labels)
    print_thresholds(kept, [(pairs, compare(pairs, scratch / "run")) for pairs in judged(data)])
    return figures(counts, list(all_drops.values()))


def figures(counts: Counts, drops: list[Drops]) -> list[Figure]:
    def part(of: NDArray[np.float64], whole: NDArray[np.float64], which: int | slice) -> float:
        return float(of[which].sum() / whole[which].sum())

    exact, near = sum(d.found for d in drops) / sum(d.copies for d in drops), sum(d.near for d in drops)
    named = {
        "exact copies found": (exact, 1.0),
        "what exact drops, and is a copy": (1 - sum(d.unequal for d in drops) / sum(d.found for d in drops), 1.0),
        "pairs of 0.9 and more settled": (part(counts.settled, counts.pairs, slice(NEARER, None)), 0.999),
        "pairs of 0.9 and more that met": (part(counts.met, counts.pairs, slice(NEARER, None)), 0.999),
        "documents with such a duplicate caught": (part(counts.caught, counts.documents, slice(NEARER, None)), 0.999),
        "pairs of 0.8 to 0.9 settled": (part(counts.settled, counts.pairs, NEAR), 0.97),
        "pairs of 0.8 to 0.9 that met": (part(counts.met, counts.pairs, NEAR), 0.97),
        "documents with a duplicate of 0.8 to 0.9 caught": (part(counts.caught, counts.documents, NEAR), 0.97),
        "near copies rightly dropped": (sum(d.true for d in drops) / near, 0.995),
    }
    return [Figure(f"dedup: {name}", value, "", bar, digits=4) for name, (value, bar) in named.items()]


# --- what the mill does


def decide(texts: list[str], folder: Path, steps: str) -> Decided:
    """Put documents through a recipe of `dedup/exact` and more."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = (orjson.dumps({"id": str(number), "text": text}) + b"\n" for number, text in enumerate(texts))
    with (folder / "docs.jsonl").open("wb") as file:
        file.writelines(lines)
    path = orjson.dumps(str(folder / "docs.jsonl")).decode()
    recipe = Recipe.parse(
        f"name: quality\nread:\n  - jsonl: {{paths: {path}, source: docs}}\n"
        f"steps:\n  - dedup/exact\n  - {steps}\nwrite:\n  - parquet\n"
    )
    carry_out(recipe, folder=folder / "out", executor=Processes(2, preload=("corpusmill.engine.preload",)))
    files = RunFiles(folder / "out")
    columns = ["id", "dropped_by", *(f"{s}.{c}" for s in ("exact", "minhash") for c in ("duplicate_of", "similarity"))]
    paths = files.paths("signals", len(files.passes) - 1)
    signals = pa.concat_tables([pq.read_table(path, columns=[*columns, "minhash.cluster_id"]) for path in paths])
    number = {document_id("docs", str(n)): n for n in range(len(texts))}
    decided = Decided(
        np.zeros(len(texts), np.int8),
        np.full(len(texts), -1, np.int64),
        np.full(len(texts), np.nan),
        np.arange(len(texts)),
    )
    for said in signals.to_pylist():
        n = number[said["id"]]
        if step := said["dropped_by"]:
            decided.step[n] = ("", "exact", "minhash").index(step)
            decided.kept[n] = number[said[f"{step}.duplicate_of"]]
            decided.similarity[n] = said[f"{step}.similarity"]
        if step == "exact":
            decided.cluster[n] = decided.kept[n]
        elif said["minhash.cluster_id"]:
            decided.cluster[n] = number[said["minhash.cluster_id"]]
    shutil.rmtree(folder)
    if len(signals) != len(texts):
        raise SystemExit(f"{len(texts) - len(signals)} of {len(texts)} documents are not in the run")
    return decided


def band_keys(texts: list[str], step: Minhash) -> NDArray[np.uint64]:
    """(documents, bands) the keys by which the step brings documents together."""
    bands = []
    for start in range(0, len(texts), 2048):
        part = pa.array(texts[start : start + 2048], pa.large_string())
        columns = {field.name: pa.nulls(len(part), field.type) for field in DOCUMENT}
        ids = pa.array([document_id("docs", str(n)) for n in range(start, start + len(part))])
        batch = pa.RecordBatch.from_pydict({**columns, "text": part, "id": ids}, schema=DOCUMENT)
        bands.append(step.keys(batch, {}).bands)
    return np.concatenate(bands)


# --- what it should have done


def count(truth: Alike, decided: Decided, keys: NDArray[np.uint64], step: Minhash) -> Counts:
    kept = np.zeros(len(truth.first), bool)
    kept[truth.group[decided.step == 0]] = True
    ranges = range_of(truth.similarity)
    left = kept[truth.left] & kept[truth.right]
    brought = shared(truth, keys)
    met, expected = meetings(truth, keys, *step.shape)[1:]
    pairs, settled, passed, documents, caught = (np.zeros(len(RANGES)) for _ in range(5))
    for k in range(SAME):
        here = ranges == k
        pairs[k], settled[k] = here.sum(), (here & ~left).sum()
        passed[k] = (here & left & brought).sum()
        with_twin = np.union1d(truth.left[here], truth.right[here])
        with_twin_left = np.union1d(truth.left[here & left], truth.right[here & left])
        documents[k], caught[k] = len(with_twin), len(with_twin) - len(with_twin_left)
    size = np.bincount(truth.group)
    kept = np.bincount(truth.group[decided.step == 0], minlength=len(size))
    pairs[SAME], settled[SAME] = (size - 1).sum(), (size - np.maximum(kept, 1)).sum()
    documents[SAME], caught[SAME] = size[size > 1].sum(), size[size > 1].sum() - kept[kept > 1].sum()
    return Counts(pairs, met, expected, settled, passed, documents, caught)


def meetings(truth: Alike, keys: NDArray[np.uint64], bands: int, rows: int) -> NDArray[np.float64]:
    """(3, ranges): pairs, those that share a key, those that theory expects to."""
    ranges = range_of(truth.similarity)
    met = shared(truth, keys)
    expected = 1 - (1 - truth.similarity**rows) ** bands
    weights = (np.ones(len(met)), met, expected)
    counts = np.stack([np.bincount(ranges, weight, len(RANGES)) for weight in weights]).astype(np.float64)
    copies = np.setdiff1d(np.arange(len(truth.group)), truth.first)
    same = (keys[copies] == keys[truth.first[truth.group[copies]]]).any(axis=1)
    counts[:, SAME] = len(copies), same.sum(), len(copies)
    return counts


def shared(truth: Alike, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """(pairs,) whether a key of a band is that of both."""
    meet: NDArray[np.bool_] = (keys[truth.first[truth.left]] == keys[truth.first[truth.right]]).any(axis=1)
    return meet


def range_of(similarity: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.searchsorted(np.array(EDGES), similarity, side="right").astype(np.int64) - 1


def judge(texts: list[str], members: Sets, decided: Decided, keys: NDArray[np.uint64], threshold: float) -> Drops:
    exact, near = np.flatnonzero(decided.step == 1), np.flatnonzero(decided.step == 2)
    true = np.array([jaccard(members[n], members[decided.kept[n]]) for n in near.tolist()])
    rightly = (true >= threshold) & (decided.step[decided.kept[near]] == 0)
    before = np.flatnonzero(decided.step != 1)
    heads = before[components(keys[before])]
    linked = [jaccard(members[n], members[head]) for n, head in zip(before.tolist(), heads.tolist()) if n != head]
    return Drops(
        copies=len(texts) - len(set(texts)),
        found=len(exact),
        unequal=sum(texts[n] != texts[decided.kept[n]] for n in exact),
        near=len(near),
        true=int(rightly.sum()),
        error=float(np.abs(true - decided.similarity[near]).max(initial=0)),
        linked=len(linked),
        far=sum(value < threshold for value in linked),
    )


def components(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """(documents,) the first document that each is connected with by shared keys."""
    bands = [np.unique(band, return_inverse=True)[1] for band in keys.T]
    head = np.arange(len(keys))
    while True:
        before = head.copy()
        for bucket in bands:
            least = np.full(len(keys), len(keys))
            np.minimum.at(least, bucket, head)
            head = least[bucket]
        if (head == before).all():
            return head


def judged_pairs(copies: Copies, members: Sets, decided: Decided, threshold: float) -> Iterator[tuple[str, ...]]:
    """Of the pairs that somebody calls copies: how many are, and of how many one side is gone."""
    gone = decided.step > 0
    for label, pairs in copies.labelled.items():
        true = np.array([jaccard(members[a], members[b]) for a, b in pairs])
        settled = np.array([gone[a] or gone[b] for a, b in pairs])
        near = true >= threshold
        yield (
            *(copies.name, label, f"{len(pairs):,}", f"{near.sum():,}", share(int((settled & near).sum()), near.sum())),
            *(f"{(~near).sum():,}", share(int((settled & ~near).sum()), (~near).sum())),
        )


# --- other thresholds, and what people say


def near_steps(threshold: float) -> str:
    return f"dedup/minhash: {{numbers: fold, punctuation: drop, threshold: {threshold}}}"


def thresholds(texts: list[str], folder: Path) -> list[int]:
    """How many near copies go at each threshold."""
    return [int((decide(texts, folder, near_steps(value)).step == 2).sum()) for value in THRESHOLDS]


def compare(pairs: Judged, folder: Path) -> list[dict[str, int]]:
    """For each threshold and label, how many pairs end as one document."""
    texts = list(dict.fromkeys(text for pair in pairs.pairs for text in pair))
    at = {text: number for number, text in enumerate(texts)}
    joined = []
    for value in THRESHOLDS:
        cluster = decide(texts, folder, near_steps(value)).cluster
        one = [cluster[at[a]] == cluster[at[b]] for a, b in pairs.pairs]
        joined.append({label: sum(o for o, said in zip(one, pairs.labels) if said == label) for label in pairs.order})
    return joined


# --- printing


def print_counts(counts: Counts, bands: int, rows: int) -> None:
    print("All sets together, by true similarity:\n")
    table("similarity", "pairs", f"met, {bands} × {rows}", "expected", "settled", "documents", "caught")
    for k, name in enumerate(RANGES):
        n, documents = counts.pairs[k], counts.documents[k]
        cells = share(counts.met[k], n), share(counts.expected[k], n), share(counts.settled[k], n)
        row(name, f"{n:,.0f}", *cells, f"{documents:,.0f}", share(counts.caught[k], documents))
    left = (counts.pairs - counts.settled)[NEAR:].sum()
    met = counts.passed[NEAR:].sum()
    print(f"\nOf the {left:,.0f} pairs of 0.8 and more of which both are kept, {met:,.0f} had met.\n")


def print_sets(by_name: dict[str, Counts]) -> None:
    print("Pairs settled, of how many, in each set:\n")
    table("documents", *RANGES[NEAR:])
    for name, counts in by_name.items():
        row(name, *(f"{counts.settled[k]:,.0f} of {counts.pairs[k]:,.0f}" for k in range(NEAR, len(RANGES))))
    print()


def print_shapes(shaped: dict[tuple[int, int], NDArray[np.float64]]) -> None:
    print("Pairs that meet, all sets together, and the share that is expected:\n")
    table("bands × rows", *RANGES)
    for (bands, rows), (pairs, met, expected) in shaped.items():
        cells = (f"{share(met[k], pairs[k])} ({share(expected[k], pairs[k])})" for k in range(len(RANGES)))
        row(f"{bands} × {rows}", *cells)
    print()


def print_labels(labels: list[tuple[str, ...]]) -> None:
    print("Pairs that somebody calls copies, and those of them that truly reach the threshold:\n")
    table("documents", "called", "pairs", "reach it", "settled", "do not", "settled")
    for cells in labels:
        row(*cells)
    print()


def print_thresholds(kept: list[tuple[str, list[int]]], human: list[tuple[Judged, list[dict[str, int]]]]) -> None:
    print("Near copies dropped at other thresholds, bands and rows solved:\n")
    table("threshold", "bands × rows", *(name for name, _ in kept))
    for k, value in enumerate(THRESHOLDS):
        row(value, "{} × {}".format(*solve(value)), *(f"{counts[k]:,}" for _, counts in kept))
    print(
        "\nPairs that people judged, and how many of each label end as one document (no bar). Copies to people "
        f"are, here, the labels {', '.join(label for pairs, _ in human for label in pairs.copies)}.\n"
    )
    for pairs, joined in human:
        total = {label: pairs.labels.count(label) for label in pairs.order}
        table("threshold", *(f"{pairs.name}, {label}: of {n}" for label, n in total.items()), "as people say")
        for value, one in zip(THRESHOLDS, joined):
            agree = sum(n if label in pairs.copies else total[label] - n for label, n in one.items())
            row(value, *one.values(), share(agree, sum(total.values())))
        print()
    print()


def share(part: float, whole: float) -> str:
    return f"{part / whole:.4f}" if whole else "–"
