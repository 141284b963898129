"""Do our rules decide as datatrove's? Both judge the same real documents, each rule family alone.

    make parity DATA=DIR
    python -m benchmarks.peers.parity --data DIR --peer PYTHON [--documents 10000] [--own-words 4000]

DIR holds `warc/crawl/*.wet.gz` and `text/…`, see `samples.SOURCES`. PYTHON is that of an environment with datatrove
0.10, which `make parity` makes; benchmarks/peers/parity_datatrove.py runs in it. All documents are judged with words at
white space, which takes datatrove seconds; and evenly spread ones as datatrove comes, with spaCy's words, which ours
count with `words: spacy`.

A family agrees on a document if both keep it, or both drop it for the same first reason; C4 must leave the same text
as well. Every difference is printed. Exits with 1 if a family agrees on less than 99.9 % of the documents.
"""

import argparse
import gzip
import hashlib
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.samples import SOURCES, real_documents
from corpusmill.engine.work.batch import Batch
from corpusmill.schema import DOCUMENT
from corpusmill.steps.filter.c4 import C4
from corpusmill.steps.filter.fineweb import Fineweb
from corpusmill.steps.filter.gopher_quality import GopherQuality
from corpusmill.steps.filter.gopher_repetition import GopherRepetition

WANTED = 0.999

FAMILIES: dict[str, Any] = {
    "gopher_quality": GopherQuality(),
    "gopher_repetition": GopherRepetition(),
    "fineweb": Fineweb(),
    "c4": C4(min_sentences=None),
    "c4_without_terminal_punctuation": C4(min_sentences=None, terminal_punctuation=False),
}
AS_IT_COMES: dict[str, Any] = {
    "gopher_quality": GopherQuality(words="spacy"),
    "gopher_repetition": GopherRepetition(words="spacy"),
    "fineweb": Fineweb(words="spacy"),
}
FOR_INFORMATION = {"c4_with_sentences": C4()}  # counted by other rules: ours, and spaCy's

# Our reason -> datatrove's.
SAME = {
    "min_words": "gopher_short_doc",
    "max_words": "gopher_long_doc",
    "min_mean_word_length": "gopher_below_avg_threshold",
    "max_mean_word_length": "gopher_above_avg_threshold",
    "max_hash_ratio": "gopher_too_many_hashes",
    "max_ellipsis_ratio": "gopher_too_many_ellipsis",
    "max_bullet_lines": "gopher_too_many_bullets",
    "max_ellipsis_lines": "gopher_too_many_end_ellipsis",
    "min_alpha_words": "gopher_below_alpha_threshold",
    "min_stop_words": "gopher_enough_stop_words",
    "max_duplicate_paragraphs": "dup_para_frac",
    "max_duplicate_paragraph_chars": "dup_para_char_frac",
    "max_duplicate_lines": "dup_line_frac",
    "max_duplicate_line_chars": "dup_line_char_frac",
    **{f"max_top_{n}_gram_chars": f"top_{n}_gram" for n in (2, 3, 4)},
    **{f"max_duplicate_{n}_gram_chars": f"duplicated_{n}_n_grams" for n in range(5, 11)},
    "min_punctuated_lines": "line_punct_ratio",
    "max_short_lines": "short_line_ratio",
    "max_repeated_line_chars": "char_dup_ratio",
    "max_newline_ratio": "list_ratio",
    "min_sentences": "too_few_sentences",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peer", type=Path, required=True, help="the python of an environment with datatrove 0.10")
    parser.add_argument("--documents", type=int, default=10_000, help="the first so many")
    parser.add_argument("--own-words", type=int, default=4000, help="so many are judged with spaCy's words, too")
    options = parser.parse_args()
    missing = [pattern for _, pattern in SOURCES if not list(options.data.glob(pattern))]
    if missing:
        sys.exit(
            f"{options.data} has no {missing[0]}. Parity needs real documents: name their folder, make parity DATA=DIR"
        )
    batches = list(real_documents(options.data, options.documents))
    texts = [text for batch in batches for text in batch["text"].to_pylist()]
    size = sum(len(text.encode()) for text in texts) / 1e6
    ours = {name: judged(step, batches) for name, step in (FAMILIES | FOR_INFORMATION).items()}
    step = max(1, len(texts) // options.own_words)
    theirs = ask_datatrove(options.peer, texts, step)
    spread = pa.Table.from_batches(batches).take(pa.array(range(0, len(texts), step))).to_batches(1000)
    as_it_comes = {name: judged(rules, spread) for name, rules in AS_IT_COMES.items()}

    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, {date.today()}")
    print(f"{len(texts):,} documents, {size:.1f} MB; datatrove {theirs['version']}, words split at white space\n")
    print(f"{'family':34} {'documents':>9} {'dropped':>8} {'agree':>9} {'share':>9}")
    names = [f"{about['id'].as_py()[:8]} {about['source'].as_py()}" for batch in batches for about in rows(batch)]
    worst = min(compare(name, ours[name], theirs[name], names) for name in FAMILIES)
    print("\ndatatrove as it comes, with spaCy's words")
    some = names[::step]
    worst = min(worst, *(compare(name, as_it_comes[name], theirs[f"{name}_own_words"], some) for name in AS_IT_COMES))
    print("\nfor information: sentences counted by spaCy; and spaCy's words beside white space")
    compare("c4_with_sentences", ours["c4_with_sentences"], theirs["c4_with_sentences"], None)
    for name in AS_IT_COMES:
        compare(name, ours[name][::step], theirs[f"{name}_own_words"], None)
    if worst < WANTED:
        sys.exit(f"\na family agrees on {worst:.4%}, and {WANTED:.1%} is wanted")


def rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    return ({name: batch[name][at] for name in ("id", "source")} for at in range(len(batch)))


def judged(step: Any, batches: list[pa.RecordBatch]) -> list[list[str | None]]:
    """(documents, 2) datatrove's name of the first reason, None if kept; a hash of the text of those kept."""
    answers: list[list[str | None]] = []
    for documents in batches:
        batch = Batch(documents.cast(DOCUMENT))
        batch.apply(0, "step", step)
        assert not batch.failed
        reasons = batch.reasons[0][1].to_pylist() if batch.reasons else [None] * len(documents)
        for reason, text in zip(reasons, batch.docs["text"].to_pylist()):
            first = reason and reason.split(",")[0]
            answers.append([first and SAME.get(first, first), None if reason else digest(text)])
    return answers


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def ask_datatrove(peer: Path, texts: list[str], step: int) -> dict[str, Any]:
    script = Path(__file__).with_name("parity_datatrove.py")
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "texts.json.gz", Path(folder) / "answers.json"
        asked.write_bytes(gzip.compress(json.dumps(texts).encode(), 1))
        subprocess.run([peer, script, asked, answered, str(step)], check=True)
        answers: dict[str, Any] = json.loads(answered.read_text("utf-8"))
        return answers


def compare(name: str, ours: list[list[str | None]], theirs: list[list[str | None]], names: list[str] | None) -> float:
    """Print how far both agree, and where they do not if `names` are given; returns the share that agrees. A document
    of which nothing is left is lost to both: ours drops it as empty, datatrove keeps it with an empty text."""
    assert len(ours) == len(theirs)
    emptied = [at for at, (a, b) in enumerate(zip(ours, theirs)) if a == ["empty", None] and b == [None, digest("")]]
    same = set(emptied)
    differ = [at for at, (a, b) in enumerate(zip(ours, theirs)) if a != b and at not in same]
    share = 1 - len(differ) / len(ours)
    dropped = sum(reason is not None for reason, _ in ours)
    print(f"{name:34} {len(ours):9,} {dropped:8,} {len(ours) - len(differ):9,} {share:9.3%}")
    if emptied:
        print(f"    nothing is left of {len(emptied):,}: ours drops them as empty, datatrove keeps an empty text")
    for at in differ if names else []:
        (a, a_text), (b, b_text) = ours[at], theirs[at]
        what = "other text" if a == b and a_text != b_text else f"ours {a or 'kept'}, datatrove {b or 'kept'}"
        print(f"    {at} {names[at] if names else ''}: {what}")
    return share


if __name__ == "__main__":
    main()
