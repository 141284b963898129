"""The stages of TokenTurbine on Ray Data, for benchmarks/peers/pipelines.py; runs in an environment of its own and
knows nothing of corpusmill.

    python pipeline_tokenturbine.py run|tell SETTINGS.json

Written from its published description (Ventura 2025), with the libraries, batch sizes, actors, patterns and thresholds
that it names: BeautifulSoup; fastText on 1,000 characters from a quarter on; regular expressions for e-mail, IPv4,
phone numbers and toxic words; the share of punctuation; exact copies in one actor; MinHash of 128 permutations with
datasketch at 0.85 in one actor; JSON lines; tiktoken, and tokens as Parquet with Snappy. It is not its code: its
package cannot be installed, and reads the tokenizer from the network.

Variant `lazy` writes the documents and then the tokens from the same lazy data set, as it is described, by which Ray
does everything before twice. `once` keeps the documents in Ray's memory in between. Actors: one or two for each stage
that may have several, where its default is one to four, as there are no more cores; documents come in order.

`tell` writes what `run` did to the file `answer`, see pipelines.py; it is not timed.
"""

import html
import json
import os
import re
import shutil
import sys
import unicodedata
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fasttext
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import ray
import tiktoken
import xxhash
from bs4 import BeautifulSoup
from datasketch import MinHash, MinHashLSH

BATCH = 2000  # documents
SHORTEST = 100  # characters
STAGES = 5  # that run at the same time, with what reads and writes beside them
CODE_WORDS = re.compile(
    r"\b(?:function|var|const|let|=>|console\.log|document\.getElementById|window\.|return|import|export|class|def|"
    r"printf|iostream)\b"
)
CODE_SYMBOLS = re.compile(r"[{}();=<>]")
EMAIL = re.compile(r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b")
ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
PHONE = re.compile(r"\b(?:\+\d{1,2}\s)?\(?\d{3}\)?[\s.-]?\d{3}[\s.-]?\d{4}\b")
GPT2_SPLIT = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


class Ingest:
    """Without HTML, normalised, at least 100 characters, not code; with an id, which is a hash of the text."""

    def __init__(self) -> None:
        warnings.filterwarnings("ignore", module="bs4")

    def __call__(self, batch: pa.Table) -> pa.Table:
        texts = [self.clean(text or "") for text in batch["text"].to_pylist()]
        kept = [i for i, text in enumerate(texts) if len(text) >= SHORTEST and not self.is_code(text)]
        texts = [texts[i] for i in kept]
        column = pa.array(texts, pa.string())
        return pa.table(
            {
                "doc_id": pa.array([xxhash.xxh64(text.encode()).hexdigest() for text in texts], pa.string()),
                "text": column,
                "url": batch["url"].take(pa.array(kept, pa.int64())).cast(pa.string()),
                "char_count": pc.utf8_length(column).cast(pa.int64()),
                "word_count": pc.list_value_length(pc.utf8_split_whitespace(column)).cast(pa.int64()),
            }
        )

    def clean(self, text: str) -> str:
        soup = BeautifulSoup(text, "html.parser")
        for element in soup(["script", "style", "header", "footer", "nav", "noscript"]):
            element.decompose()
        text = unicodedata.normalize("NFC", html.unescape(soup.get_text()))
        text = "".join(c for c in text if c in "\n\t" or unicodedata.category(c)[0] != "C")
        text = text.replace("\u00a0", " ").replace("\t", " ")
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(line.strip() for line in text.split("\n")))
        return re.sub(r"[ \t]+", " ", text).strip()

    def is_code(self, text: str) -> bool:
        words = len(CODE_WORDS.findall(text))
        return words > 5 or (words > 0 and len(CODE_SYMBOLS.findall(text)) / len(text) > 0.05)


class Filter:
    """English, not toxic, little punctuation; e-mail, IP addresses and phone numbers are replaced."""

    def __init__(self, model: str, toxic_words: list[str]) -> None:
        fasttext.FastText.eprint = lambda _: None
        self.model = fasttext.load_model(model)
        self.toxic = re.compile(r"\b(?:" + "|".join(map(re.escape, toxic_words)) + r")\b", re.IGNORECASE)

    def __call__(self, batch: pa.Table) -> pa.Table:
        if not len(batch):
            return batch
        texts = batch["text"].to_pylist()
        labels, scores = self.model.predict([self.sample(text) for text in texts], k=1)
        kept, changed = [], []
        for i, text in enumerate(texts):
            if labels[i][0] != "__label__en" or scores[i][0] <= 0.65:
                continue
            found = len(self.toxic.findall(text))
            if found and found / max(len(text.split()), 1) > 0.001:
                continue
            redacted = PHONE.sub("<PHONE>", ADDRESS.sub("<IP>", EMAIL.sub("<EMAIL>", text)))
            if sum(not (c.isalnum() or c.isspace()) for c in redacted) / len(redacted) > 0.3:
                continue
            kept.append(i)
            changed.append(redacted)
        batch = batch.take(pa.array(kept, pa.int64()))
        return batch.set_column(batch.column_names.index("text"), "text", pa.array(changed, pa.string()))

    def sample(self, text: str) -> str:
        start = min(len(text) // 4, max(len(text) - 1000, 0)) if len(text) > 1000 else 0
        return re.sub(r"\s+", " ", text[start : start + 1000]).strip()


class Once:
    """Keeps the rows that were not seen, and notes for each other one which it is a copy of."""

    def __init__(self, notes: str) -> None:
        self.notes = Path(notes)

    def note(self, batch: pa.Table, copy_of: dict[int, str]) -> pa.Table:
        urls = batch["url"].to_pylist()
        with self.notes.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps([url, copy_of.get(i)]) + "\n" for i, url in enumerate(urls))
        return batch.filter(pa.array([i not in copy_of for i in range(len(batch))], pa.bool_()))


class Exact(Once):
    def __init__(self, notes: str) -> None:
        super().__init__(notes)
        self.seen: dict[str, str] = {}

    def __call__(self, batch: pa.Table) -> pa.Table:
        copy_of = {}
        for i, (name, url) in enumerate(zip(batch["doc_id"].to_pylist(), batch["url"].to_pylist())):
            if (first := self.seen.setdefault(name, url)) != url:
                copy_of[i] = first
        return self.note(batch, copy_of)


class Near(Once):
    def __init__(self, notes: str) -> None:
        super().__init__(notes)
        self.index = MinHashLSH(threshold=0.85, num_perm=128)

    def __call__(self, batch: pa.Table) -> pa.Table:
        copy_of = {}
        for i, (text, url) in enumerate(zip(batch["text"].to_pylist(), batch["url"].to_pylist())):
            shingles = self.shingles(text)
            if not shingles:
                continue
            sketch = MinHash(num_perm=128, seed=42)
            for shingle in shingles:
                sketch.update(shingle.encode())
            if alike := self.index.query(sketch):
                copy_of[i] = alike[0]
            else:
                self.index.insert(url, sketch)
        return self.note(batch, copy_of)

    def shingles(self, text: str) -> set[str]:
        text = re.sub(r"[^\w\s]", "", text.lower())
        words = text.split()
        if len(words) < 5:
            return {text} if text else set()
        return {" ".join(words[i : i + 5]) for i in range(len(words) - 4)}


class Tokens:
    def __init__(self, tokenizer: str) -> None:
        self.tokenizer = gpt2(Path(tokenizer))

    def __call__(self, batch: pa.Table) -> pa.Table:
        ids = [self.tokenizer.encode(text, disallowed_special=()) for text in batch["text"].to_pylist()]
        return pa.table(
            {
                "doc_id": batch["doc_id"],
                "input_ids": pa.array(ids, pa.list_(pa.int64())),
                "token_count": pa.array(map(len, ids), pa.int64()),
                "url": batch["url"],
            }
        )


def gpt2(file: Path) -> tiktoken.Encoding:
    """tiktoken's `gpt2`, from a tokenizer.json: it would fetch its own file."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    bytes_of = {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}
    vocabulary = json.loads(file.read_text("utf-8"))["model"]["vocab"]
    end = vocabulary.pop("<|endoftext|>", 50256)
    ranks = {bytes(bytes_of[c] for c in token): rank for token, rank in vocabulary.items()}
    return tiktoken.Encoding("gpt2", pat_str=GPT2_SPLIT, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": end})


def run(settings: dict[str, Any]) -> None:
    work, out = Path(settings["work"]), Path(settings["out"])
    for folder in (work, out):
        folder.mkdir(parents=True, exist_ok=True)
    # Logical processors: every actor holds one as long as it lives, and Ray waits for ever if there are too few.
    processors = STAGES * settings["workers"]
    ray.init(num_cpus=processors, include_dashboard=False, logging_level="error", _temp_dir=settings["ray"])
    ray.data.DataContext.get_current().enable_progress_bars = False
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    some = ray.data.ActorPoolStrategy(min_size=1, max_size=settings["workers"])
    one = ray.data.ActorPoolStrategy(min_size=1, max_size=1)

    def stage(data: Any, worker: Any, actors: Any, *arguments: Any) -> Any:
        return data.map_batches(
            worker, batch_format="pyarrow", batch_size=BATCH, fn_constructor_args=list(arguments), compute=actors
        )

    data = ray.data.read_json(settings["files"])
    data = stage(data, Ingest, some)
    data = stage(data, Filter, some, settings["language_model"], settings["toxic_words"])
    data = stage(data, Exact, one, str(work / "exact"))
    data = stage(data, Near, one, str(work / "near"))
    if settings["variant"] == "once":
        data = data.materialize()
    data.write_json(str(work / "parts"), force_ascii=False)
    with (out / "documents.jsonl").open("wb") as whole:
        for part in sorted((work / "parts").iterdir()):
            with part.open("rb") as file:
                shutil.copyfileobj(file, whole)
    stage(data, Tokens, some, settings["tokenizer"]).write_parquet(str(out / "tokens"), compression="snappy")
    ray.shutdown()


def tell(settings: dict[str, Any]) -> None:
    """Of a stage that was run twice the second time counts, whose result is the same."""
    work = Path(settings["work"])
    with (Path(settings["out"]) / "documents.jsonl").open("rb") as lines:
        kept = [json.loads(line)["url"] for line in lines]
    notes = {name: dict(map(json.loads, (work / name).read_text("utf-8").splitlines())) for name in ("exact", "near")}
    duplicates = [(url, first) for note in notes.values() for url, first in note.items() if first is not None]
    answer = {
        "version": f"Ray {version('ray')}",
        "kept": kept,
        "compared": list(notes["exact"]),
        "duplicates": duplicates,
    }
    Path(settings["answer"]).write_text(json.dumps(answer), "utf-8")


if __name__ == "__main__":
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    {"run": run, "tell": tell}[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text("utf-8")))
