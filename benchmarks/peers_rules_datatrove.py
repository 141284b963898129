"""datatrove's half of benchmarks/peers_rules.py; runs in an environment of its own and knows nothing of corpusmill.

    python peers_rules_datatrove.py TEXTS.json.gz ANSWERS.json

Its four filters, as they come, one after the other in one process, each run as datatrove's executors run it: a filter
sees what the ones before it kept. First with datatrove's words, which spaCy splits, then with words that white space
separates, which takes a fraction of the time. ANSWERS: {"version": …, words: {"seconds": CPU seconds of the thread,
"kept": numbers of texts}}.
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
FILTERS = (GopherQualityFilter, GopherRepetitionFilter, FineWebQualityFilter, C4QualityFilter)
MODULES = (gopher_quality_filter, gopher_repetition_filter, fineweb_quality_filter)


def main(texts_file: str, answers_file: str) -> None:
    logger.remove()
    texts = json.loads(gzip.decompress(Path(texts_file).read_bytes()))
    answers: dict[str, Any] = {"version": version("datatrove"), "spacy": timed(texts)}
    for module in MODULES:
        module.split_into_words = lambda text, language: text.split()
    answers["white space"] = timed(texts)
    Path(answers_file).write_text(json.dumps(answers), "utf-8")


def timed(texts: list[str]) -> dict[str, Any]:
    chain(texts[:WARM])
    start = time.thread_time()
    kept = chain(texts)
    return {"seconds": time.thread_time() - start, "kept": kept}


def chain(texts: list[str]) -> list[int]:
    """The numbers of the texts that stay."""
    documents = (Document(text=text, id=str(number)) for number, text in enumerate(texts))
    for step in FILTERS:
        documents = step().run(documents)
    return [int(document.id) for document in documents]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
