"""Decontamination in scripts without spaces: sentences of such languages as items, put into news of them."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.quality.made_decontam import Made

LANGUAGES = {"zh": "zho", "ja": "jpn", "th": "tha"}  # in the sentences of lingua, and in NTREX's documents
LEAST = {"zh": 12, "ja": 12, "th": 30}  # letters of an item; of twice as many a part is put in


def made(data: Path, folder: Path) -> tuple[Path, list[Made]]:
    """A file of items, and documents: news with one of them in the middle, whole or its first 60 %, news alone, and
    other sentences in rows. Half of the sentences are items."""
    sentences, news = (
        _read(data / "lang" / "lingua_sentences.jsonl.gz", "lang"),
        _read(data / "lang" / "ntrex_docs.jsonl.gz", "lang"),
    )
    items, documents = [], []
    for language, code in LANGUAGES.items():
        known = [text for text in dict.fromkeys(sentences[language]) if len("".join(text.split())) >= LEAST[language]]
        around = [text for name, texts in news.items() if name.startswith(code) for text in texts]
        asked, others = known[::2], known[1::2]
        for number, question in enumerate(asked):
            name = f"{language}-{number}"
            items.append({"id": name, "question": question})
            before, _, after = around[number % len(around)].partition("\n")
            is_part = number % 2 == 0 and len(question) >= 2 * LEAST[language]
            mode, text = ("first 60 %", question[: len(question) * 6 // 10]) if is_part else ("whole", question)
            documents.append(Made(f"{before}\n{text}\n{after}", f"{language}, {mode}", True, frozenset([name])))
        documents += [Made(text, f"{language}, news", False, frozenset()) for text in around]
        rows = ["".join(others[at : at + 10]) for at in range(0, len(others), 10)]
        documents += [Made(text, f"{language}, other sentences", False, frozenset()) for text in rows]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "unspaced.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    return path, documents


def _read(path: Path, key: str) -> dict[str, Sequence[str]]:
    texts: dict[str, list[str]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            texts.setdefault(entry[key], []).append(entry["text"])
    return dict(texts)
