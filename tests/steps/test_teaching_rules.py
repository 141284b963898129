"""The quality rules of four teaching pipelines, as plain functions, decide as a line or two of a recipe do."""

import unicodedata
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from corpusmill.engine.work.batch import Batch
from corpusmill.read import FilePiece, ReadCounts
from corpusmill.read.jsonl import JsonlReader
from corpusmill.read.wet import WetReader
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels
from corpusmill.storage import expand

ROOT = Path(__file__).parents[2]


def short_shouting_or_special(text):
    words = text.split()
    if len(words) < 50:
        return False
    if sum(word.isupper() for word in words) / len(words) > 0.3:
        return False
    return sum(not c.isalnum() and not c.isspace() for c in text) / max(len(text), 1) <= 0.1


def symbols_digits_bullets_and_distinct_words(text):
    words = text.split()
    if len(words) < 50:
        return False
    if sum(c in "#@{}[]<>|\\" for c in text) / max(len(text), 1) > 0.1:
        return False
    if sum(map(str.isdigit, text)) / max(len(text), 1) > 0.15:
        return False
    bullets = sum(line.strip().startswith(("•", "-", "*")) for line in text.split("\n"))
    if bullets / max(text.count("\n"), 1) > 0.9:
        return False
    return len(set(words)) / max(len(words), 1) >= 0.1


def words_that_come_again(text):
    words = text.split()
    return len(words) >= 50 and 1 - len(set(words)) / len(words) <= 0.3


def a_subset_of_gopher(text):
    words, lines = text.split(), text.splitlines()
    if not 50 <= len(words) <= 100_000:
        return False
    if not 3 <= sum(map(len, words)) / len(words) <= 10:
        return False
    if sum(c in "#…" for c in text) / max(1, len(text)) > 0.10:
        return False
    if sum(line.lstrip().startswith(("•", "-", "*")) for line in lines) / max(1, len(lines)) > 0.90:
        return False
    if sum(line.rstrip().endswith("…") for line in lines) / max(1, len(lines)) > 0.30:
        return False
    return top_share(words, 2) <= 0.20 and top_share(words, 3) <= 0.18


def has_marks(text):
    return any(unicodedata.category(c)[0] == "M" for c in text)


def top_share(words, n):
    grams = list(zip(*(words[i:] for i in range(n))))
    return max(Counter(grams).values()) / len(grams) if grams else 0.0


# The recipe of each. Differences remain: the first function
# takes combining marks for special characters, without which Hindi and Thai cannot be written. The second takes line
# feeds for lines, and superscripts for digits; the fourth does not take "..." for an ellipsis.
LINES = [
    (
        short_shouting_or_special,
        "- filter/basic: {rules: [min_words, max_uppercase_word_ratio, max_special_char_ratio]}",
    ),
    (
        symbols_digits_bullets_and_distinct_words,
        """- filter/basic:
    rules: [min_words, max_symbol_ratio, max_digit_ratio, max_bullet_line_ratio, min_distinct_word_ratio]
    max_symbol_ratio: 0.1
    bullets: "•-*"
""",
    ),
    (words_that_come_again, "- filter/basic: {rules: [min_words, max_repeat_ratio], max_repeat_ratio: 0.3}"),
    (
        a_subset_of_gopher,
        """- annotate/stats
- filter/gopher_quality: {rules: [max_bullet_lines, max_ellipsis_lines], bullets: "•-*"}
- filter/basic: {rules: [max_symbol_ratio], symbols: "#…", max_symbol_ratio: 0.1}
- filter/keep_where:
    conditions:
      length: stats.words BETWEEN 50 AND 100000
      word_length: stats.mean_word_length BETWEEN 3 AND 10
      repeat_2_gram: stats.top_2_gram_ratio <= 0.20
      repeat_3_gram: stats.top_3_gram_ratio <= 0.18
""",
    ),
]


def kept(lines: str, documents: pa.RecordBatch) -> list[bool]:
    """Whether these steps of a recipe keep each document."""
    recipe = Recipe.parse(f"read: {{jsonl: x.jsonl}}\nsteps:\n{lines}")
    batch = Batch(documents)
    for index, (label, step) in enumerate(zip(labels(recipe.steps), recipe.steps)):
        batch.apply(index, label, step)
    return [reason is None for reason in batch.all_reasons().to_pylist()]


@pytest.fixture(scope="module")
def demo() -> pa.RecordBatch:
    """The demo's documents that come as text."""
    found = []
    for reader, name in ((JsonlReader(), "extra.jsonl.gz"), (WetReader(), "pages.warc.wet.gz")):
        (file,) = expand(f"demo://{name}")
        found += list(reader.read(FilePiece(file), "made", ReadCounts()))
    return pa.Table.from_batches(found).combine_chunks().to_batches()[0]


@pytest.mark.parametrize(("function", "lines"), LINES, ids=[function.__name__ for function, _ in LINES])
def test_a_line_of_a_recipe_decides_as_the_function(function, lines, demo):
    texts = demo["text"].to_pylist()
    wanted = [function(text) for text in texts]
    others = [text for text, keeps, want in zip(texts, kept(lines, demo), wanted) if keeps != want]
    assert not [text for text in others if not has_marks(text)]
    assert bool(others) == (function is short_shouting_or_special)
    assert 0.01 < sum(wanted) / len(wanted) < 0.99
