"""Write src/corpusmill/data/spacy-words-en.npz: the rules of spaCy's English tokenizer as tables, see
corpusmill.text.spacy_rules. In an environment with spaCy 3.8 beside corpusmill:

    python scripts/make_spacy_words.py [--check | --golden | --compare N]

The classes of characters are found by asking spaCy's own compiled expressions about each code point; nothing is copied
from its source. --check writes nothing, and says whether the tables are those of the installed spaCy. --golden writes
tests/text/spacy_words.json.gz, the words of spaCy in invented texts, so that the tests do not need it; --compare makes
N such texts, new ones each time, and says in how many our words are spaCy's.
"""

import argparse
import gzip
import hashlib
import json
import sys
from collections.abc import Callable
from random import Random, SystemRandom
from typing import Any

import numpy as np
import pyarrow as pa
import spacy  # type: ignore[import-not-found,unused-ignore]
from make_unicode_tables import FOLDER, enter, two_stages, write
from numpy.typing import NDArray
from spacy.lang import char_classes  # type: ignore[import-not-found,unused-ignore]
from spacy.symbols import ORTH  # type: ignore[import-not-found,unused-ignore]
from spacy.tokenizer import Tokenizer  # type: ignore[import-not-found,unused-ignore]
from spacy.vocab import Vocab  # type: ignore[import-not-found,unused-ignore]

from corpusmill.text import spacy_rules as bits
from corpusmill.text.spacy_words import spacy_words

NAME = "spacy-words-en"
GOLDEN = FOLDER.parents[2] / "tests" / "text" / "spacy_words.json.gz"
ACTING = frozenset("+-*^.,:<>=/~$'’–—…°")  # the rules look at these by name
SEPARATOR = "\x1f"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--golden", action="store_true")
    parser.add_argument("--compare", type=int, metavar="N")
    options = parser.parse_args()
    tokenizer = spacy.blank("en").tokenizer
    if options.golden:
        texts = invented(tokenizer, 600, Random(0))
        GOLDEN.write_bytes(
            gzip.compress(json.dumps([[text, words(tokenizer, text)] for text in texts]).encode(), mtime=0)
        )
        return
    if options.compare:
        compare(tokenizer, options.compare)
        return
    tables = made(tokenizer)
    if options.check:
        with np.load(FOLDER / f"{NAME}.npz") as shipped:
            other = [name for name in tables if not np.array_equal(shipped[name], tables[name])]
        sys.exit(f"other tables with spaCy {spacy.__version__}: {', '.join(other)}" if other else 0)
    path = FOLDER / f"{NAME}.npz"
    write(path, tables)
    enter(
        NAME,
        path,
        source=f"spaCy {spacy.__version__}, https://github.com/explosion/spaCy",
        licence="MIT",
        note="character classes, special cases and units of its English tokenizer; made by scripts/make_spacy_words.py",
    )


def made(tokenizer: Any) -> dict[str, NDArray[Any]]:
    """The tables of a tokenizer. Fails where its rules are of another shape than our code knows."""
    assert tokenizer.token_match is None
    block_of, blocks = two_stages(np.array([kind(tokenizer, point) for point in range(0x110000)], np.uint16))
    cases = {key: [piece[ORTH] for piece in pieces] for key, pieces in tokenizer.rules.items() if not key.isspace()}
    without = Tokenizer(
        Vocab(),
        prefix_search=tokenizer.prefix_search,
        suffix_search=tokenizer.suffix_search,
        infix_finditer=tokenizer.infix_finditer,
        url_match=tokenizer.url_match,
    )
    names = sorted(cases)
    sequences: dict[tuple[str, ...], int] = {}
    for row, case in enumerate(names):
        assert [token.text for token in tokenizer(case)] == cases[case], case
        if tokenizer.prefix_search(case) or tokenizer.suffix_search(case) or list(tokenizer.infix_finditer(case)):
            sequences.setdefault(tuple(token.text for token in without(case)), row)
    changing = [words for words, row in sequences.items() if list(words) != cases[names[row]]]
    assert all(len(words) > 1 for words in changing)
    units = sorted(
        {unit.replace("\\", "") for unit in [*char_classes.LIST_UNITS, *char_classes.LIST_CURRENCY, "+"]} - {""}
    )
    for unit in units:
        match = tokenizer.suffix_search("5" + unit)
        assert match and match.start() == 1, unit
        assert not any(c in "0123456789" for c in unit)
    ordered = sorted(sequences)
    expressions = (tokenizer.prefix_search, tokenizer.suffix_search, tokenizer.infix_finditer, tokenizer.url_match)
    spelled = "\n".join([*(bound.__self__.pattern for bound in expressions), *sorted(tokenizer.rules)])
    return {
        "version": np.array(spacy.__version__),
        "rules": np.array(hashlib.sha256(spelled.encode()).hexdigest()),
        "block_of": block_of,
        "blocks": blocks,
        "cases": np.array([SEPARATOR.join(cases[name]) for name in names]),
        "sequences": np.array([SEPARATOR.join(words) for words in ordered]),
        "sequence_rows": np.array([sequences[words] for words in ordered], np.int32),
        "units": np.array(units),
    }


def kind(tokenizer: Any, point: int) -> int:
    """The class bits of a code point, by what the tokenizer's expressions do with it."""
    if 0xD800 <= point < 0xE000:
        return 0
    c = chr(point)
    if c.isspace():
        return bits.WHITE
    suffix: Callable[[str], Any] = tokenizer.suffix_search
    found = 0
    if c != "+" and tokenizer.prefix_search(c):
        found |= bits.PREFIX
    if suffix(c):
        found |= bits.SUFFIX
    if separates(tokenizer, f"a,{c}", 1):
        found |= bits.LETTER
    if c != "…" and separates(tokenizer, f"\0{c}", 1):
        found |= bits.INFIX
    if separates(tokenizer, f"{c}.A", 1):
        found |= bits.BEFORE_DOT
    if separates(tokenizer, f"a.{c}", 1):
        found |= bits.AFTER_DOT
    if (match := suffix(f"{c}.")) and match.start() == 1:
        found |= bits.BEFORE_LAST_DOT
    if (match := suffix(f"{c}A.")) and match.start() == 2:
        found |= bits.CAPITAL
    if tokenizer.url_match(f"a.{c}{c}"):
        found |= bits.TOP_LEVEL
    if tokenizer.url_match(f"{c}.com"):
        found |= bits.HOST
    if tokenizer.url_match(f"{c}{c}://a.com"):
        found |= bits.SCHEME
    if c in "0123456789":
        found |= bits.NUMERAL
    if c.isdecimal():
        found |= bits.DECIMAL
    if c in ACTING or found & (bits.PREFIX | bits.SUFFIX | bits.INFIX):
        found |= bits.ACTS
    return found


def separates(tokenizer: Any, text: str, at: int) -> bool:
    """Whether an infix of one character stands at a place."""
    return any((match.start(), match.end()) == (at, at + 1) for match in tokenizer.infix_finditer(text))


def words(tokenizer: Any, text: str) -> list[list[int]]:
    """[first byte, end] of each of spaCy's tokens that are not white space."""
    return [
        [len(text[: token.idx].encode()), len(text[: token.idx + len(token.text)].encode())]
        for token in tokenizer(text)
        if not token.text.isspace()
    ]


def compare(tokenizer: Any, count: int) -> None:
    seed = SystemRandom().randrange(1 << 32)
    texts = invented(tokenizer, count, Random(seed))
    found = spacy_words(pa.array(texts, pa.large_string()))
    ends = np.searchsorted(found[:, 0], np.arange(len(texts) + 1))
    other = [i for i, text in enumerate(texts) if found[ends[i] : ends[i + 1], 1:].tolist() != words(tokenizer, text)]
    print(f"seed {seed}: {len(texts) - len(other):,} of {len(texts):,} equal")
    for i in other[:5]:
        print(repr(texts[i]))
    sys.exit(bool(other))


MARKS = [
    *"+-*^.,:;<>=/~$'\"()[]{}!?&#%@_|\\`’“”‘´…–—°£€«»·。，「」•™→😀²½¿",  # noqa: RUF001
    *("..", "...", "--", "---", "——", "……", "'s", "’s", "'S"),
]
ADDRESSES = [
    *("://", "http://", "https://www.", "www.", ".com", ".org", "mailto:", "@", ":80"),
    *("192.168.1.1", "8.8.8.8", "127.0.0.1", "10.1.2.3", "172.16.0.1", "249.1.2.3"),
]
LETTERS = "a B ab AB foo Bar USA é É я слово 中 日本 ß का م e\u0301 \u200b 한 ª".split()
DIGITS = ["0", "1", "5", "10", "2024", "3.5", "1,000", "12:30", "\u0660"]
BLANKS = [*" " * 6, "\n", "  ", "\t", "\xa0", "\u2009", "\r\n", "\u3000", "\x1f", "\x85"]


def invented(tokenizer: Any, count: int, random: Random) -> list[str]:
    """Texts made of all that the rules look at, and of every special case."""
    cases = sorted(tokenizer.rules)
    units = [unit.replace("\\", "") for unit in [*char_classes.LIST_UNITS, *char_classes.LIST_CURRENCY]]
    kinds = [MARKS, ADDRESSES, LETTERS, DIGITS, units, cases]

    def piece() -> str:
        if random.random() < 0.03:
            return chr(random.choice([random.randrange(0xA1, 0x3100), random.randrange(0x10000, 0x1FB00)]))
        return random.choice(random.choices(kinds, [34, 6, 25, 12, 8, 12])[0])

    def chunk() -> str:
        blank = random.choice(BLANKS) if random.random() < 0.9 else ""
        return "".join(piece() for _ in range(random.choice([1, 1, 2, 2, 3, 4, 6, 9]))) + blank

    return ["".join(chunk() for _ in range(random.randrange(1, 14))) for _ in range(count)]


if __name__ == "__main__":
    main()
