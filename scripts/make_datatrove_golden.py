"""Make tests/text/datatrove.json.gz: the results of datatrove for invented documents, with words split at white space.

    pip install "datatrove[io,processing]==0.10.*" "xxhash<4" spacy tokenizers
    python scripts/make_datatrove_golden.py

The tests compare with this file, so that they do not need datatrove.
"""

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from datatrove.data import Document
from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupSignature
from datatrove.pipeline.filters import (
    c4_filters,
    fineweb_quality_filter,
    gopher_quality_filter,
    gopher_repetition_filter,
)
from datatrove.pipeline.formatters.pii import PIIFormatter
from datatrove.utils.text import simplify_text

OUT = Path(__file__).parent.parent / "tests" / "text" / "datatrove.json.gz"
WORDS = """
the be to of and that have with a an is was by from as it over under river mountain station engine paper market winter
garden quickly slowly report evening machine between thousand because nothing another question history language water
window Über naïve Ελλάς река 東京 42 3.14 1,000 #tag ### ... … -- can't e-mail U.S. http://example.org/a?b=1 x@y.org
8.8.8.8 10.0.0.1 [1] [edit] javascript Lorem ipsum { cookie policy"""
ENDS = [".", ".", ".", "!", "?", "...", "…", ",", "", '."', "。"]


def documents(rng: random.Random) -> Iterator[str]:
    words = WORDS.split()
    common, rare = words[:46], words[46:]
    for i in range(240):
        oddness = rng.choice([0.0, 0.01, 0.05, 0.3])
        repeats = rng.choice([0.0, 0.05, 0.3, 0.6])
        lines: list[str] = []
        for _ in range(rng.choice([1, 4, 12, 30])):
            if lines and rng.random() < repeats:
                lines.append(rng.choice(lines))
                continue
            chosen = [rng.choice(rare if rng.random() < oddness else common) for _ in range(rng.randint(1, 14))]
            if rng.random() < repeats / 2:
                chosen *= 3
            bullet = "- " if i % 12 == 0 else ""
            lines.append(bullet + " ".join(chosen).capitalize() + rng.choice(ENDS))
        yield rng.choice(["\n", "\n\n", "\r\n", " "]).join(lines)


def verdict(step: Any, text: str) -> str | None:
    answer = step.filter(Document(text=text, id="0"))
    return None if answer is True else answer[1]


def main() -> None:
    for module in (gopher_quality_filter, gopher_repetition_filter, fineweb_quality_filter):
        module.split_into_words = lambda text, language=None: text.split()
    steps = {
        "gopher_quality": gopher_quality_filter.GopherQualityFilter(),
        "gopher_repetition": gopher_repetition_filter.GopherRepetitionFilter(),
        "fineweb": fineweb_quality_filter.FineWebQualityFilter(),
    }
    c4 = c4_filters.C4QualityFilter(min_num_sentences=-1)
    emails = PIIFormatter().emails_replacer.regex
    minhash = MinhashDedupSignature("unused", MinhashConfig())
    minhash.word_tokenizer = type("Words", (), {"word_tokenize": staticmethod(str.split)})()
    rows = []
    for text in documents(random.Random(11)):
        cleaned = Document(text=text, id="0")
        answer = c4.filter(cleaned)
        shingles = minhash.get_shingles(text)
        with np.errstate(over="ignore"):
            lanes = [lane for band in minhash.get_signature(shingles) for lane in band] if len(shingles) else None
        rows.append(
            {
                "text": text,
                "c4": cleaned.text if answer is True else answer[1],
                "folded": simplify_text(text),
                "emails": [match.group() for match in emails.finditer(text)],
                "minhash": lanes and lanes[::16],
            }
            | {name: verdict(step, text) for name, step in steps.items()}
        )
    OUT.write_bytes(gzip.compress(json.dumps(rows, ensure_ascii=False).encode(), mtime=0))


if __name__ == "__main__":
    main()
