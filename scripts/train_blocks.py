"""Train the model of extract/blocks on pages whose text people marked, and enter it in MANIFEST.json.

    pip install lightgbm trafilatura
    python scripts/train_blocks.py --data DIR --typed ARCHIVE [--out MODEL] [--part 0/3] [--without BENCHMARK]

DIR holds *.warc.gz and gold_extraction.jsonl.gz, ARCHIVE pages of seven types (scripts/blocks_gold.py). Without --out
the model that ships is written, trained on all pages. --part 0/3 leaves out the first third of the domains, --without
all pages of a benchmark and of their domains: models that benchmarks/quality/extraction.py makes to test on the rest.
LightGBM is needed here alone, and runs with one thread: the same data and versions give the same bytes.

Pages of which only snippets are known are recent ones, and few others are: there, what trafilatura extracts is the gold
where no snippet says otherwise, with a low weight.

The trees of older pages learn from DIR, those of modern ones from ARCHIVE, where posts, items of lists and
specifications are text, too. Trees for both were worse at each: F1 of .84 to .85 on ARCHIVE instead of .87.

What the model has of the pages are hashes of words in classes, ids and short blocks with a weight each, thresholds of
columns, and leaves.
"""

import argparse
import hashlib
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import lightgbm  # type: ignore[import-not-found,unused-ignore]
import numpy as np
import trafilatura
from blocks_gold import GoldPage, Labels, block_texts, gold_pages, labels, snippet_labels, typed_pages
from numpy.typing import NDArray
from train_quality import DATA, enter

from corpusmill.models.blocks import (
    BEST_F1,
    BLOCKS_MODEL,
    PAGE_TYPES,
    TABLE_BITS,
    THRESHOLDS,
    BlocksModel,
    Favour,
    chosen,
)
from corpusmill.text.blocks.columns import COLUMNS, Around, columns
from corpusmill.text.blocks.context import ALL_COLUMNS, add_context
from corpusmill.text.blocks.names import IN_COMMENTS, Weights, fnv, table
from corpusmill.text.blocks.page import END_BLOCK, FIRST, FIRST_BLOCK, FLAGS, INNER, LAST, WORDS, BlockPage
from corpusmill.text.blocks.scan import PageWords, scan, scan_hints
from corpusmill.text.blocks.summary import page_columns
from corpusmill.text.blocks.trees import Trees

FOLDS = 3  # by domain: no block's weights and first probability come from its own domain
MOST_WORDS = 3000  # in each table of weights
DOMAINS = {"hint": 3, "word": 4}  # that must have a word
SHORT = 12  # words of a block whose words are learned: menus and labels, not texts
KEEPS_COMMENTS = frozenset(["cleaneval"])  # its guidelines count comments as text
COMMENTED = frozenset(["dragnet", "l3s_gn1"])  # their golds have comments apart
SNIPPET = 0.15  # weight of a block that a snippet decides
TAUGHT = 0.5  # of the weight of a block, where trafilatura decides
WORD = re.compile(rb"[a-z0-9\x80-\xf8]+")
PARAMETERS = {
    "objective": "binary",
    "learning_rate": 0.06,
    "num_leaves": 16,
    "min_data_in_leaf": 250,
    "feature_fraction": 0.35,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5,
    "min_sum_hessian_in_leaf": 5,
    "max_bin": 127,
    "seed": 1,
    "num_threads": 1,
    "deterministic": True,
    "force_col_wise": True,
    "verbose": -1,
}
# Of the trees of modern pages, which have one stage, and of those that judge whole pages.
MODERN = {"learning_rate": 0.04, "num_leaves": 31, "min_data_in_leaf": 100}
MODERN_TREES = 200
OF_PAGES = {
    "learning_rate": 0.05,
    "num_leaves": 8,
    "min_data_in_leaf": 10,
    "feature_fraction": 0.2,
    "min_sum_hessian_in_leaf": 1e-3,
    "max_bin": 255,
}
PAGE_TREES = 120
Observed = dict[int, dict[str, list[float]]]  # hash of a word -> domain -> [kept, all]


@dataclass(frozen=True)
class Example:
    """A page with labels.

    drop, keep   (blocks,) bool: whether a block is text, without comments and with them
    weight       {"drop": (blocks,), "keep": (blocks,)} float64; 0 where the label is not known
    full         how many words of each block the gold without comments holds; None if only snippets are known
    """

    gold: GoldPage
    page: BlockPage
    seen: PageWords
    drop: NDArray[np.bool_]
    keep: NDArray[np.bool_]
    weight: dict[str, NDArray[np.float64]]
    full: Labels | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of pages and gold")
    parser.add_argument("--out", type=Path, help="write the model here, and leave the one that ships alone")
    parser.add_argument("--typed", type=Path, required=True, help="archive of pages of seven types")
    parser.add_argument("--part", metavar="I/N", help="leave out part I of N of the domains")
    parser.add_argument("--without", metavar="BENCHMARK")
    parser.add_argument("--trees", type=int, default=120, help="of each stage for older pages")
    options = parser.parse_args()
    pages = gold_pages(options.data) + typed_pages(options.typed)
    if options.part:
        number, count = map(int, options.part.split("/"))
        pages = [gold for gold in pages if gold.part(count) != number]
    if options.without:
        away = {gold.domain for gold in pages if options.without in gold.sources}
        pages = [gold for gold in pages if gold.domain not in away]
    model = train(pages, options.trees, report=options.out is None)
    path = options.out or DATA / f"{BLOCKS_MODEL}.model"
    model.save(path)
    print(f"{path}: {path.stat().st_size:,} bytes")
    if options.out is None:
        enter(
            BLOCKS_MODEL,
            {
                "file": path.name,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                "source": "scripts/train_blocks.py on pages of nine benchmarks of extraction, see the card",
                "licence": "Apache-2.0",
                "note": "tells the text of a page from its furniture: hashes, weights and trees; the file holds a card",
            },
        )


def train(pages: Sequence[GoldPage], trees: int, report: bool) -> BlocksModel:
    """report   also print how the trees do on the domains of folds that they have not seen: a third of the time"""
    examples = [example for gold in pages if (example := labelled(gold)) is not None]
    balance(examples)
    observed = [observe(example for example in examples if example.gold.fold(FOLDS) == fold) for fold in range(FOLDS)]
    rows: list[NDArray[np.float32]] = []
    around: list[Around] = []
    for example in examples:
        fold = example.gold.fold(FOLDS)
        others = [observed[other] for other in range(FOLDS) if other != fold]
        made, near = columns(scan(example.gold.page, *weights(others, fold)), ALL_COLUMNS)
        rows.append(made)
        around.append(near)
    everything = np.concatenate(rows)
    sizes = [len(example.drop) for example in examples]
    folds = np.repeat([example.gold.fold(FOLDS) for example in examples], sizes)
    typed = np.array([bool(example.gold.page_type) for example in examples])
    of_typed = np.repeat(typed, sizes)
    target = {kind: np.concatenate([getattr(example, kind) for example in examples]) for kind in ("drop", "keep")}
    weight = {kind: np.concatenate([example.weight[kind] for example in examples]) for kind in ("drop", "keep")}
    older = {kind: np.where(of_typed, 0, weight[kind]) for kind in weight}
    modern = np.where(of_typed, weight["drop"], 0)
    first = out_of_fold(everything[:, :COLUMNS], target["drop"], older["drop"], folds, trees)
    start = 0
    for example, made, near in zip(examples, rows, around, strict=True):
        add_context(example.page, near, first[start : start + len(made)], made)
        start += len(made)
    whole = np.concatenate([page_columns(e.gold.page, e.page, made) for e, made in zip(examples, rows, strict=True)])
    everything = np.concatenate(rows)
    of_type = [np.array([example.gold.page_type == page_type for example in examples]) for page_type in PAGE_TYPES]
    stages = {
        "first": flat(fit(everything[:, :COLUMNS], target["drop"], older["drop"], trees)),
        **{kind: flat(fit(everything, target[kind], older[kind], trees)) for kind in ("drop", "keep")},
        "modern": flat(fit(everything[:, :COLUMNS], target["drop"], modern, MODERN_TREES, MODERN)),
        "page": flat(
            fit(whole, ~typed, even(typed), PAGE_TREES, OF_PAGES),
            *(fit(whole, is_type, typed.astype(np.float64), PAGE_TREES, OF_PAGES) for is_type in of_type),
        ),
    }
    hints, words = weights(observed, -1)
    card: dict[str, Any] = {
        "pages": dict(sorted(Counter(source for e in examples for source in e.gold.sources).items())),
        "blocks": len(everything),
        "trees": trees,
        "lightgbm": lightgbm.__version__,
    }
    if report:
        second = out_of_fold(everything, target["drop"], older["drop"], folds, trees)
        third = out_of_fold(everything[:, :COLUMNS], target["drop"], modern, folds, MODERN_TREES, MODERN)
        likely = np.where(of_typed, third, second)
        for favour in THRESHOLDS:
            one, two, three = (f1(examples, p, favour, m) for p, m in ((first, False), (likely, False), (likely, True)))
            print(f"favour: {favour}: F1 {one:.4f}, with the second stage {two:.4f}, modern {three:.4f};", end=" ")
            print(f"snippets {right(examples, likely, favour):.4f}")
    print(card, file=sys.stderr)
    return BlocksModel(card, hints, words, stages)


def labelled(gold: GoldPage) -> Example | None:
    """None for a page without blocks or usable gold."""
    page, seen = scan_hints(gold.page)
    if not len(page.blocks):
        return None
    in_comments = (page.elements[page.blocks[:, INNER], FLAGS] & IN_COMMENTS) != 0
    if entry := gold.full:
        source = entry["source"]
        text = labels(page, entry["text"])
        whole = labels(page, f"{entry['text']}\n{entry['comments']}") if entry.get("comments") else text
        weight = importance(text)
        drop, keep = (side.held > 0.5 * np.maximum(side.words, 1) for side in (text, whole))
        # What a gold says of comments counts for the stage that it is meant for.
        by = {
            "drop": np.where(in_comments & drop, 0, weight) if source in KEEPS_COMMENTS else weight,
            "keep": weight if source in KEEPS_COMMENTS | COMMENTED else np.where(in_comments & ~keep, 0, weight),
        }
        return Example(gold, page, seen, drop, keep, by, text)
    if entry := gold.snippets:
        taught = labels(page, teacher(gold.page))
        comments = entry.get("comments") or []
        known, drop = snippet_labels(page, entry["with"], entry["without"] + comments)
        known_too, keep = snippet_labels(page, entry["with"] + comments, entry["without"])
        usual = TAUGHT * importance(taught) if taught.size else np.zeros(len(drop))
        held = taught.held > 0.5 * np.maximum(taught.words, 1)
        by = {
            "drop": np.where(known, SNIPPET, usual),
            "keep": np.where(known_too, SNIPPET, np.where(in_comments & ~held, 0, usual)),
        }
        return Example(gold, page, seen, np.where(known, drop, held), np.where(known_too, keep, held), by, None)
    return None


def importance(known: Labels) -> NDArray[np.float64]:
    """(blocks,) the weight of each block of a page: its share of the words, as F1 has it."""
    share = known.words / (0.5 * known.size + 0.2 * known.words.sum() + 30)
    return np.minimum(share.astype(np.float64), 0.5) + 0.0005


def teacher(page: bytes) -> str:
    """What trafilatura extracts; empty where it fails."""
    try:
        return trafilatura.extract(page.decode(), include_comments=False) or ""
    except Exception:
        return ""


def even(typed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(pages,) weights by which older pages and modern ones count the same, however many of each there are: a model
    that is tested on a benchmark of older pages has learned from fewer of these."""
    return np.where(typed, 1 / max(typed.sum(), 1), 1 / max((~typed).sum(), 1))


def balance(examples: Sequence[Example]) -> None:
    """Let the pages of small benchmarks count for more: each benchmark as the root of its pages."""
    sizes = Counter(source for example in examples for source in example.gold.sources)
    largest = max(sizes.values(), default=1)
    for example in examples:
        rarest = min(sizes[source] for source in example.gold.sources)
        for kind in example.weight:
            example.weight[kind] *= math.sqrt(largest / rarest)


def observe(examples: Iterable[Example]) -> dict[str, Observed]:
    """By domain, how often blocks are kept below elements with a word in class or id, and short blocks with a word."""
    seen: dict[str, Observed] = {kind: defaultdict(lambda: defaultdict(lambda: [0.0, 0.0])) for kind in DOMAINS}
    for example in examples:
        if example.full is None:
            continue
        page, domain = example.page, example.gold.domain
        words, held = (np.concatenate([[0], np.cumsum(a)]) for a in (example.full.words, example.full.held))
        first, end = page.elements[:, FIRST_BLOCK], page.elements[:, END_BLOCK]
        total, kept = words[end] - words[first], held[end] - held[first]
        for word, element in zip(example.seen.words.tolist(), example.seen.elements.tolist(), strict=True):
            if total[element] > 0:
                counts = seen["hint"][word][domain]
                counts[0] += kept[element]
                counts[1] += total[element]
        text = page.text.tobytes().lower()
        for block in np.flatnonzero((page.blocks[:, WORDS] <= SHORT) & (example.full.words > 0)):
            share = example.full.held[block] / example.full.words[block]
            for found in set(WORD.findall(text[page.blocks[block, FIRST] : page.blocks[block, LAST]])):
                counts = seen["word"][fnv(found)][domain]
                counts[0] += share
                counts[1] += 1
    return seen


_tables: dict[int, tuple[Weights, Weights]] = {}


def weights(observed: Sequence[dict[str, Observed]], left_out: int) -> tuple[Weights, Weights]:
    """The tables of hints and words from some folds; kept, under the fold that is left out."""
    if left_out not in _tables:
        made = []
        for kind, least in DOMAINS.items():
            merged: Observed = defaultdict(dict)
            for part in observed:
                for word, domains in part[kind].items():
                    merged[word].update(domains)
            made.append(table(log_odds(merged, least), TABLE_BITS, np.float32))
        _tables[left_out] = made[0], made[1]
    return _tables[left_out]


def log_odds(seen: Observed, least: int) -> list[tuple[int, float]]:
    """The words that say most, each with the logarithm of its odds against the average's: each domain counts once."""
    common = {word: domains for word, domains in seen.items() if len(domains) >= least}
    shares = [min(1.0, kept / total) for domains in common.values() for kept, total in domains.values()]
    average = float(np.mean(shares)) if shares else 0.5
    rated = []
    for word, domains in common.items():
        kept, count = sum(min(1.0, k / t) for k, t in domains.values()), len(domains)
        odds = math.log((kept + 2 * average) / (count - kept + 2 * (1 - average))) - math.log(average / (1 - average))
        rated.append((abs(odds) * math.sqrt(count), word, odds))
    rated.sort(reverse=True)
    return [(word, odds) for _, word, odds in rated[:MOST_WORDS]]


def fit(
    rows: NDArray[np.float32],
    target: NDArray[np.bool_],
    weight: NDArray[np.float64],
    trees: int,
    parameters: Mapping[str, float] = MappingProxyType({}),
) -> Any:
    known = weight > 0
    data = lightgbm.Dataset(rows[known], target[known].astype(np.int32), weight=weight[known] / weight[known].mean())
    return lightgbm.train(PARAMETERS | dict(parameters), data, trees)


def out_of_fold(
    rows: NDArray[np.float32],
    target: NDArray[np.bool_],
    weight: NDArray[np.float64],
    folds: NDArray[np.int64],
    trees: int,
    parameters: Mapping[str, float] = MappingProxyType({}),
) -> NDArray[np.float32]:
    """(blocks,) float32: the probability of each block by trees that saw the other folds."""
    made = np.zeros(len(rows), np.float32)
    for fold in range(FOLDS):
        here = folds == fold
        if here.any() and (~here).any():
            made[here] = fit(rows[~here], target[~here], weight[~here], trees, parameters).predict(rows[here])
    return made


def flat(*boosters: Any) -> Trees:
    """The trees of LightGBM's boosters as arrays, one booster after another."""
    column, threshold, left, right, leaf, root = ([] for _ in range(6))  # type: ignore[var-annotated]

    def add(node: dict[str, Any]) -> int:
        if "split_feature" not in node:
            leaf.append(node["leaf_value"])
            return ~(len(leaf) - 1)
        number = len(column)
        column.append(node["split_feature"])
        threshold.append(node["threshold"])
        left.append(0)
        right.append(0)
        left[number], right[number] = add(node["left_child"]), add(node["right_child"])
        return number

    for booster in boosters:
        for tree in booster.dump_model()["tree_info"]:
            root.append(add(tree["tree_structure"]))
    return Trees(
        np.array(column, np.int16),
        np.array(threshold, np.float32),
        np.array(left, np.int16),
        np.array(right, np.int16),
        np.array(leaf, np.float32),
        np.array(root, np.int16),
    )


def f1(examples: Sequence[Example], likely: NDArray[np.float32], favour: Favour, modern: bool) -> float:
    """The mean F1 in words over pages whose full text is known, of modern ones or of all others."""
    scores, start = [], 0
    for example in examples:
        lowered = BEST_F1 if modern else None
        kept = chosen(likely[start : start + len(example.drop)], example.page.blocks[:, WORDS], favour, lowered)
        start += len(example.drop)
        if (full := example.full) and bool(example.gold.page_type) == modern:
            scores.append(2 * full.held[kept].sum() / max(1.0, full.words[kept].sum() + full.size))
    return float(np.mean(scores)) if scores else math.nan


def right(examples: Sequence[Example], likely: NDArray[np.float32], favour: Favour) -> float:
    """The mean share of snippets that are kept or left out as they should be."""
    scores, start = [], 0
    for example in examples:
        kept = chosen(likely[start : start + len(example.drop)], example.page.blocks[:, WORDS], favour)
        start += len(example.drop)
        if entry := example.gold.snippets:
            parts = [text for text, keep in zip(block_texts(example.page), kept, strict=True) if keep]
            flat = " ".join(" ".join(parts).split())
            found = [" ".join(part.split()) in flat for part in entry["with"]]
            found += [" ".join(part.split()) not in flat for part in entry["without"]]
            scores.append(float(np.mean(found)))
    return float(np.mean(scores)) if scores else math.nan


if __name__ == "__main__":
    main()
