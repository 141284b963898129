"""datatrove's half of benchmarks/peers/rules.py; runs in an environment of its own and knows nothing of corpusmill.

    python rules_datatrove.py TEXTS.json.gz ANSWERS.json

Its four filters, as they come, one after the other in one process, each run as datatrove's executors run it: a filter
sees what the ones before it kept. First with datatrove's words, which spaCy splits; then with words that white space
separates; then without the sentences that C4's filter lets spaCy count, too. ANSWERS: {"version": …, "own": …,
"white space": …, "no sentences": …}, each {"seconds": CPU seconds of the thread, "kept": numbers of texts}.
"""

import gzip
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from datatrove.data import Document
from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
    fineweb_quality_filter,
    gopher_quality_filter,
    gopher_repetition_filter,
)
from loguru import logger

WARM = 20  # texts, for all that is loaded once
SENTENCES = 5  # datatrove's least number
MODULES = (gopher_quality_filter, gopher_repetition_filter, fineweb_quality_filter)


def main(texts_file: str, answers_file: str) -> None:
    logger.remove()
    texts = json.loads(gzip.decompress(Path(texts_file).read_bytes()))
    answers: dict[str, Any] = {"version": version("datatrove"), "own": timed(texts, SENTENCES)}
    for module in MODULES:
        module.split_into_words = lambda text, language: text.split()
    answers["white space"] = timed(texts, SENTENCES)
    answers["no sentences"] = timed(texts, -1)
    Path(answers_file).write_text(json.dumps(answers), "utf-8")


def timed(texts: list[str], sentences: int) -> dict[str, Any]:
    chain(texts[:WARM], sentences)
    start = time.thread_time()
    kept = chain(texts, sentences)
    return {"seconds": time.thread_time() - start, "kept": kept}


def chain(texts: list[str], sentences: int) -> list[int]:
    """The numbers of the kept texts."""
    documents = (Document(text=text, id=str(number)) for number, text in enumerate(texts))
    for step in (
        GopherQualityFilter(),
        GopherRepetitionFilter(),
        FineWebQualityFilter(),
        C4QualityFilter(min_num_sentences=sentences),
    ):
        documents = step.run(documents)
    return [int(document.id) for document in documents]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
