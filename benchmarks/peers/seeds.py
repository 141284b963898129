"""Do the five recipes of docs/seeds.md do what their documents describe? Each is run on the demo's data, and what it
wrote is compared with plain code: the functions that a document gives, fastText, datasketch, tiktoken, datasets,
PyTorch.

    make seeds

runs this where these libraries are (build/seeds). Figures that need not be exact have a bar; the others are equalities.
"""

import hashlib
import importlib.util
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import corpusmill
from benchmarks.common import Figure, heading, row, table, verdict
from corpusmill import assets
from corpusmill.loader import open as open_loader
from corpusmill.loader.masks import block_mask
from corpusmill.models.tokenizer import load
from corpusmill.recipe.shipped import shipped
from corpusmill.report.figures.texts import texts as text_figures
from corpusmill.report.figures.tokens import statistics
from corpusmill.report.tables import RunTables
from corpusmill.shards.layout import PADDING
from corpusmill.shards.reader import Shards, open_shards
from docs.make_funnels import on_the_demo

ROOT = Path(__file__).parents[2]
PERMUTATIONS, WORDS = 128, 5
PERSONAL = {  # TokenTurbine's expressions, in substance
    "email": r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}",
    "phone": r"(?<![\w.])\+?1?[-. ]?\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}(?![\w.])",
}


def main() -> int:
    heading("the demo's", "benchmarks.peers.seeds")
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="corpusmill-") as folder:
        for name, check in CHECKS.items():
            os.environ |= on_the_demo(name)
            done = corpusmill.run(shipped(name).path, overrides=["run.dropped_text=all"], folder=Path(folder) / name)
            print(f"## {name}\n")
            table("", "measured", "wanted")
            for figure in check(Made(done.place)):
                wants = f"{figure.wants} {figure.bar:g}" if figure.bar is not None else ""
                row(figure.name, f"{figure.value:.{figure.digits}f} {figure.unit}".strip(), wants)
                figures.append(Figure(f"{name}: {figure.name}", *list(vars(figure).values())[1:]))
            print()
    return verdict(figures)


@dataclass(frozen=True)
class Made:
    """A run."""

    place: str

    @property
    def tables(self) -> RunTables:
        return RunTables(self.place)

    def output(self, name: str) -> Path:
        return Path(self.place) / "output" / name

    def kept(self) -> list[dict[str, Any]]:
        """The output documents, in order."""
        tables = self.tables
        batches = tables.files.documents("docs", len(tables.passes) - 1, ["id", "source", "text", "url"], 1024)
        return [document for batch in batches for document in batch.to_pylist()]

    def dropped(self, *steps: str) -> list[dict[str, Any]]:
        """Documents that these steps dropped, with the text that came to them; of all steps if none is named."""
        tables = self.tables
        columns = ["id", "source", "text", "url", "dropped_by"]
        passes = (tables.files.documents("dropped", number, columns, 1024) for number in range(len(tables.passes)))
        rows = (document for batches in passes for batch in batches for document in batch.to_pylist())
        chosen = (document for document in rows if not steps or document["dropped_by"] in steps)
        return sorted(chosen, key=lambda document: str(document["id"]))


def exact(name: str, same: bool) -> Figure:
    """Something that holds or not."""
    return Figure(name, float(same), "", 1, digits=0)


def share(name: str, agree: int, of: int, bar: float) -> Figure:
    return Figure(f"{name}, of {of:,}", agree / max(of, 1), "", bar, digits=4)


# ------------------------------------------------------------------ the lesson


def lesson(run: Made) -> Iterator[Figure]:
    kept, statistic = run.kept(), statistics(run.tables)
    rule = teaching("short_shouting_or_special")
    judged = [(document["text"], True) for document in kept]
    judged += [(document["text"], False) for document in run.dropped("basic")]
    yield share(
        "quality_filter decides the same", sum(rule(text) == stays for text, stays in judged), len(judged), 0.99
    )
    sums = [hashlib.sha256(document["text"].encode()).digest() for document in kept]
    yield exact("no two output documents have one SHA-256", len(set(sums)) == len(sums))
    yield from near_duplicates(run, "minhash", 0.8)
    yield from language_of(run, lambda text: text, 0.8, 0.9)  # the lesson does not say what of a document is read
    ids = token_ids(document["text"] for document in kept)
    shards = open_shards(run.output("shards"))
    yield exact("token ids in all rows are tiktoken's, EOS after each document", unpadded(shards) == flat(ids))
    batch = open_loader(run.output("shards")).batch(step=0, batch_size=4)
    yield exact("attention is within documents alone", same_mask(batch))
    assert statistic
    every = Counter(token for document in ids for token in document[:-1])
    lengths = [len(document["text"].split()) for document in kept]
    characters = sum(len(document["text"]) for document in kept)
    figures = text_figures(run.tables)
    assert figures
    words = figures["output"].to_json()["words"]
    yield exact("tokens", statistic.all.tokens == sum(every.values()))
    yield exact("distinct tokens", statistic.distinct == len(every))
    yield exact(
        "characters per token", abs(statistic.all.characters_per_token - characters / sum(every.values())) < 1e-4
    )
    yield exact("words of the shortest and the longest document", (words["least"], words["most"]) == ends(lengths))
    yield exact("words per document", abs(words["mean"] - sum(lengths) / len(lengths)) < 0.01)


def ends(values: list[int]) -> tuple[int, int]:
    return min(values), max(values)


def same_mask(batch: dict[str, Any]) -> bool:
    """Whether the mask of a batch is the block-diagonal one, made in plain loops."""
    positions = batch["position_ids"]
    mask = block_mask(positions)
    for one, made in zip(positions, mask.reshape(len(positions), *mask.shape[-2:])):
        document = np.cumsum(one == 0)
        wanted = (document[:, None] == document[None, :]) & np.tri(len(one), dtype=bool)
        if not np.array_equal(made, wanted):
            return False
    return True


# ------------------------------------------------------------------ pre-training at scale


def pretraining_at_scale(run: Made) -> Iterator[Figure]:
    rule = teaching("symbols_digits_bullets_and_distinct_words")
    web = [document for document in run.kept() if document["source"] in ("web", "wet")]
    judged = [(document["text"], True) for document in web]
    judged += [(document["text"], False) for document in run.dropped("basic")]
    yield share("passes_heuristic_filter decides the same", sum(rule(t) == s for t, s in judged), len(judged), 0.99)
    others = run.dropped("basic", "gopher_quality", "url", "keep_where")
    yield exact("no code and no book is dropped by rules for the web", {d["source"] for d in others} <= {"web", "wet"})
    yield from near_duplicates(run, "minhash", 0.7)
    shards = open_shards(run.output("shards"))
    rows = np.stack(list(shards.rows()))
    texts = {document["id"]: document["text"] for document in run.kept()}
    held = shards.index.documents - shards.index.discarded_documents
    stream = flat(token_ids(texts[shards.provenance(number)["id"]] for number in range(held)))
    wanted = packed(stream, 2048)[: len(rows)]
    yield exact("rows are the stream of documents and EOS, cut at 2,048", wanted == rows.tolist())
    yield exact("no padding", bool((shards.spans(0, len(shards)).document != PADDING).all()))


def packed(stream: list[int], length: int) -> list[list[int]]:
    return [stream[at : at + length] for at in range(0, len(stream) - length + 1, length)]


# ------------------------------------------------------------------ Hugging Face


def hf_packaging(run: Made) -> Iterator[Figure]:
    import datasets
    from torch.utils.data import DataLoader

    kept = run.kept()
    dropped = run.dropped("basic")
    yield exact("what is dropped has fewer than 50 words", all(len(d["text"].split()) < 50 for d in dropped))
    paragraphs = [part for document in kept for part in split_paragraphs(document["text"])]
    hashes = {hashlib.sha256(part.encode()).digest() for part in paragraphs}
    yield exact("no paragraph occurs twice", len(hashes) == len(paragraphs))
    repeats = [1 - len(set(words)) / len(words) for words in (part.split() for part in paragraphs) if words]
    yield exact("no paragraph repeats more than 70 % of its words", max(repeats) <= 0.7)
    rows = packed(flat(token_ids(document["text"] for document in kept)), 128)
    file = str(run.output("parquet_tokens") / "preprocessed_dataset.parquet")
    read = datasets.Dataset.from_parquet(file, cache_dir=run.place)
    yield exact("Dataset.from_parquet: rows of tiktoken's ids", read["input_ids"][:] == rows)
    yield exact("labels are the ids", read["labels"][:] == rows)
    stream = datasets.load_dataset("parquet", data_files=file, split="train", streaming=True, cache_dir=run.place)
    batches = list(DataLoader(stream.with_format("torch"), batch_size=8))
    yield exact(
        "DataLoader(load_dataset(…, streaming=True)): all rows", sum(len(b["labels"]) for b in batches) == len(rows)
    )
    shapes = {tuple(batch["input_ids"].shape) for batch in batches[:-1]}
    yield exact("batches of 8 × 128", shapes == {(8, 128)})


def split_paragraphs(text: str) -> list[str]:
    return [part for part in (p.strip() for p in re.split(r"\n[ \t]*\n", text)) if part]


# ------------------------------------------------------------------ the WET lab


def wet_lab(run: Made) -> Iterator[Figure]:
    kept, dropped = run.kept(), run.dropped()
    yield from language_of(run, lambda text: text.replace("\n", " ")[:1000], 0.65, 1)
    rule = teaching("a_subset_of_gopher")
    judged = [(document["text"], document.get("dropped_by") not in ("gopher_quality", "basic")) for document in kept]
    judged += [(d["text"], d["dropped_by"] == "minhash") for d in dropped if d["dropped_by"] != "language"]
    yield share("passes_gopher decides the same", sum(rule(t) == s for t, s in judged), len(judged), 0.995)
    yield from near_duplicates(run, "minhash", 0.8)
    file = run.output("shards") / "train_00000.bin"
    ids = np.memmap(file, np.uint16, "r")
    wanted = flat(token_ids(document["text"] for document in kept))
    yield exact("np.memmap: the ids of encode_ordinary, EOT after each document", ids.tolist() == wanted)
    text = encoding().decode(ids[:200].tolist())
    yield exact("decode(arr[:200]) is the beginning of the first document", kept[0]["text"].startswith(text[:300]))


# ------------------------------------------------------------------ TokenTurbine


def tokenturbine(run: Made) -> Iterator[Figure]:
    kept = run.kept()
    lines = [json.loads(line) for line in (run.output("jsonl") / "cleaned_dataset.jsonl").open("rb")]
    yield exact("one JSONL, a line per document", [line["text"] for line in lines] == [d["text"] for d in kept])
    counts = [(len(line["text"].split()), len(line["text"])) for line in lines]
    said = [(line["signals"]["stats.words"], line["signals"]["stats.characters"]) for line in lines]
    same = sum(a == b for a, b in zip(counts, said))  # measured before personal data is replaced
    yield share("word and character counts", same, len(lines), 0.95)
    yield exact("no document below 100 characters", min(len(d["text"]) for d in kept) >= 100)
    for kind, pattern in PERSONAL.items():
        left = sum(bool(re.search(pattern, document["text"])) for document in kept)
        yield Figure(
            f"documents with an {kind}" if kind == "email" else f"documents with a {kind}", left, "", 1, "below", 0
        )
    yield from language_of(run, from_a_quarter_on, 0.65, 0.98)
    yield from near_duplicates(run, "minhash", 0.85)
    table = pq.read_table(run.output("tokenized"))
    ids = [document[:-1] for document in token_ids(document["text"] for document in kept)]
    yield exact("tokens by document: ids of tiktoken", table["input_ids"].to_pylist() in (ids, token_ids_with_end(ids)))
    yield exact("token_count", table["token_count"].to_pylist() == [len(one) for one in table["input_ids"].to_pylist()])


def from_a_quarter_on(text: str) -> str:
    start = len(text) // 4
    return text[start : start + 1000] if len(text) > 1000 else text


def token_ids_with_end(ids: list[list[int]]) -> list[list[int]]:
    return [[*one, encoding().eot_token] for one in ids]


# ------------------------------------------------------------------ what they share


def language_of(run: Made, part: Callable[[str], str], least: float, bar: float) -> Iterator[Figure]:
    """fastText's own library on the same part of each document that came to filter/language."""
    import fasttext

    model = fasttext.load_model(str(assets.locate("lid.176.ftz")))
    tables, agree = run.tables, 0
    columns = '"language.label" AS label, "language.score" AS score'
    query = f'SELECT id, {columns} FROM ({tables.table("signals", 0)}) WHERE "language.label" IS NOT NULL'
    measured = {entry["id"]: (entry["label"], entry["score"]) for entry in tables.rows(query)}
    documents = [d for d in [*run.kept(), *run.dropped("language")] if d["id"] in measured]
    for document in documents:
        labels, scores = model.predict(part(document["text"]).replace("\n", " "))
        wanted = labels[0] == "__label__en" and scores[0] >= least
        label, score = measured[document["id"]]
        agree += wanted == (label == "en" and score >= least)
    yield share("fastText's library decides the same", agree, len(documents), bar)


def near_duplicates(run: Made, step: str, threshold: float) -> Iterator[Figure]:
    """datasketch on the documents that came to dedup/minhash: of its pairs, verified, how many have one dropped; and
    how many of the dropped have a kept duplicate by plain lower-case words."""
    from datasketch import MinHash, MinHashLSH

    dropped = {document["id"]: document["text"] for document in run.dropped(step)}
    later = run.dropped("sources", "ngrams")
    texts = {document["id"]: document["text"] for document in [*run.kept(), *later]} | dropped
    grams = {name: shingles(text) for name, text in texts.items()}
    lsh, pairs = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS), set()
    for name, own in grams.items():
        sketch = MinHash(num_perm=PERMUTATIONS)
        sketch.update_batch([gram.encode() for gram in own])
        pairs |= {(other, name) for other in lsh.query(sketch) if jaccard(grams[other], own) >= threshold}
        lsh.insert(name, sketch)
    caught = sum(one in dropped or other in dropped for one, other in pairs)
    yield share(f"datasketch's pairs at {threshold} have one dropped", caught, len(pairs), 0.97)
    tables = run.tables
    number = next(i for i, (_, labels) in enumerate(tables.passes) if step in labels)
    query = (
        f'SELECT id, "{step}.duplicate_of" AS other FROM ({tables.table("signals", number)}) WHERE other IS NOT NULL'
    )
    found = [(entry["id"], entry["other"]) for entry in tables.rows(query)]
    right = sum(jaccard(grams[one], grams[other]) >= threshold for one, other in found if other in grams)
    yield share("of the dropped, alike by plain words too", right, sum(other in grams for _, other in found), 0.9)


def shingles(text: str) -> set[str]:
    words = text.lower().split()
    return {" ".join(words[i : i + WORDS]) for i in range(max(len(words) - WORDS + 1, 1))}


def jaccard(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other)


def encoding() -> Any:
    """tiktoken's gpt2, of the vocabulary that ships: tiktoken itself would fetch it."""
    import tiktoken

    definition = load("gpt2").definition
    assert definition.token_bytes
    ranks = {data: definition.ids[t] for t, data in definition.token_bytes.items() if t not in definition.added}
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
    return tiktoken.Encoding(
        "gpt2",
        pat_str=pattern,
        mergeable_ranks=ranks,
        special_tokens={"<|endoftext|>": definition.ids["<|endoftext|>"]},
    )


def token_ids(texts: Any) -> list[list[int]]:
    """Of each document, with EOS."""
    made = encoding()
    return [[*made.encode_ordinary(text), made.eot_token] for text in texts]


def flat(documents: list[list[int]]) -> list[int]:
    return [token for document in documents for token in document]


def unpadded(shards: Shards) -> list[int]:
    """All tokens of the rows but padding."""
    spans = shards.spans(0, len(shards))
    lengths = np.diff(np.append(spans.start, len(shards)))
    tokens: list[int] = shards.tokens(0, len(shards))[np.repeat(spans.document != PADDING, lengths)].tolist()
    return tokens


def teaching(name: str) -> Callable[[str], bool]:
    """A function of the documents, as the tests have it."""
    spec = importlib.util.spec_from_file_location("teaching", ROOT / "tests" / "steps" / "test_teaching_rules.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rule: Callable[[str], bool] = getattr(module, name)
    return rule


CHECKS: dict[str, Callable[[Made], Iterator[Figure]]] = {
    "lesson": lesson,
    "pretraining-at-scale": pretraining_at_scale,
    "hf-packaging": hf_packaging,
    "wet-lab": wet_lab,
    "tokenturbine": tokenturbine,
}


if __name__ == "__main__":
    sys.exit(main())
