"""datatrove's half of benchmarks/peers/parity.py; runs in an environment of its own and knows nothing of corpusmill.

    python parity_datatrove.py TEXTS.json.gz ANSWERS.json STEP

ANSWERS: family -> for each text the reason why it is dropped, null if it is kept, and a hash of the text that is left;
family_own_words -> the same of every STEPth text, with the words that datatrove takes itself.
"""

import gzip
import hashlib
import json
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from datatrove.data import Document
from datatrove.pipeline.filters import (
    c4_filters,
    fineweb_quality_filter,
    gopher_quality_filter,
    gopher_repetition_filter,
)

MODULES = (gopher_quality_filter, gopher_repetition_filter, fineweb_quality_filter)


def main(texts_file: str, answers_file: str, step: int) -> None:
    texts = json.loads(gzip.decompress(Path(texts_file).read_bytes()))
    by_words = {
        "gopher_quality": gopher_quality_filter.GopherQualityFilter(),
        "gopher_repetition": gopher_repetition_filter.GopherRepetitionFilter(),
        "fineweb": fineweb_quality_filter.FineWebQualityFilter(),
    }
    c4 = c4_filters.C4QualityFilter
    by_lines = {
        "c4": c4(min_num_sentences=-1),
        "c4_without_terminal_punctuation": c4(min_num_sentences=-1, filter_no_terminal_punct=False),
        "c4_with_sentences": c4(),
    }
    answers: dict[str, Any] = {"version": version("datatrove")}
    answers |= {f"{name}_own_words": judged(rules, texts[::step]) for name, rules in by_words.items()}
    for module in MODULES:
        module.split_into_words = lambda text, language: text.split()
    answers |= {name: judged(step, texts) for name, step in (by_words | by_lines).items()}
    Path(answers_file).write_text(json.dumps(answers), "utf-8")


def judged(step: Any, texts: Iterable[str]) -> list[list[str | None]]:
    answers: list[list[str | None]] = []
    for text in texts:
        document = Document(text=text, id="0")
        try:
            answer = step.filter(document)
        except ArithmeticError as error:  # it divides by a number of words or lines that is 0
            answer = (False, type(error).__name__)
        left = hashlib.sha256(document.text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        answers.append([None, left] if answer is True else [answer[1], None])
    return answers


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
