"""What speaks for code, counted in one scan, against the definitions read aloud."""

import re
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.text.code import CLOSERS, CODE_COUNTS, KEYWORDS, SYMBOLS, code_counts
from text_strategies import strings, texts

SPACES = " \t\n\r\x0b\x0c"


def slow_counts(text):
    words = re.findall(rb"[A-Za-z0-9_\x80-\xff]+", text.encode())
    lines = [line for line in (line.strip(SPACES) for line in text.split("\n")) if line]
    return {
        "words": len(words),
        "keywords": sum(word in [keyword.encode() for keyword in KEYWORDS] for word in words),
        "chars": sum(c not in SPACES for c in text),
        "symbols": sum(c in SYMBOLS for c in text),
        "lines": len(lines),
        "code_lines": sum(map(is_code, lines)),
    }


def is_code(line):
    ends = line.endswith(("{", ";", "):"))
    begins = line.startswith(("//", "/*", "*/", "#include", "#define")) or re.match("[@<][A-Za-z]|</[A-Za-z]", line)
    return bool(ends or begins or not line.strip(CLOSERS + SPACES))


ATOMS = """
if for return constexpr synchronized returned Return été int8 _int { } ( ) [ ] ; : ): // /* */ #include #define #includes
@app @ </p </ <b < = ,"""
codes = st.lists(st.sampled_from([*ATOMS.split(), *" \n\n\t\r,"]), max_size=40)


@settings(max_examples=200)
@given(st.lists(st.one_of(codes.map("".join), codes.map(" ".join), texts), min_size=1, max_size=3))
@example([")"])
@example(["</", "/", "@\n:", "\n", "x):", ":"])
def test_equals_the_definitions(batch):
    counts = code_counts(strings(*batch))
    assert [dict(zip(CODE_COUNTS.names, row.tolist())) for row in counts] == [slow_counts(text) for text in batch]


def test_a_document_of_10_mb_equals_the_definitions():
    random = Random(10)
    atoms = [*ATOMS.split(), *" \t,", "word", "été", "日本語", "日" * 300]
    lines = ["".join(random.choice(atoms) + " " for _ in range(random.randrange(60))) for _ in range(500)]
    text = "\n".join(random.choice(lines) for _ in range(13_000)) + "\n" + "long" * 100_000
    assert 9e6 < len(text.encode()) < 13e6
    assert dict(zip(CODE_COUNTS.names, code_counts(strings("x", text))[1].tolist())) == slow_counts(text)


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_knows_each_keyword_as_a_whole_word(keyword):
    assert code_counts(strings(f"{keyword} x{keyword} {keyword}_ ({keyword})"))["keywords"].tolist() == [2]


def test_a_null_is_an_empty_document():
    assert code_counts(strings(None, "")).tolist() == [(0,) * 6] * 2
