"""The pinned tables say what Python says of every character that all versions of Unicode know."""

import unicodedata

import numpy as np

from corpusmill.text import unicode as u
from text_strategies import STABLE


def class_of(c):
    tables = u.classes()
    return int(tables.blocks[(int(tables.block_of[ord(c) >> 7]) << 7) | (ord(c) & 127)])


def test_classes_are_those_of_str():
    for c in STABLE:
        bits = class_of(c)
        assert bool(bits & u.SPACE) == c.isspace()
        assert bool(bits & u.BREAK) == (len(f"a{c}b".splitlines()) == 2)
        assert bool(bits & u.ALPHA) == c.isalpha()
        assert bool(bits & u.ALNUM) == c.isalnum()
        assert bool(bits & u.DIGIT) == c.isdecimal()
        assert bool(bits & u.UPPER) == c.isupper()
        assert bool(bits & u.LOWER) == (c.islower() or unicodedata.category(c) == "Lt")
        assert bool(bits & u.CONTENT) == (c not in u.punctuation() | u.terminal())
        assert bool(bits & u.TERMINAL) == (c in u.terminal())


def test_the_sets_are_the_ones_described():
    assert u.unicode_version() == "14.0.0"
    assert len(u.punctuation()) == 129
    assert set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") <= u.punctuation()
    assert sorted(c for c in u.punctuation() if unicodedata.category(c) == "Cc") == [
        c for c in map(chr, range(0x100)) if unicodedata.category(c) == "Cc" and c not in "\t\n"
    ]
    assert len([c for c in u.punctuation() if ord(c) >= 0xA0]) == 34
    assert len(u.terminal()) == 159
    assert set(".?!。।؟") <= u.terminal() and not set(',;:"') & u.terminal()


def test_lookups_beyond_the_last_code_point_are_within_the_tables():
    for table, blocks in ((u.classes().block_of, u.classes().blocks), (u.folding().block_of, u.folding().kinds)):
        assert len(table) == 0x200000 >> 7
        assert (int(table.max()) + 1) << 7 <= len(blocks)
    assert not u.classes().blocks.flags.writeable
    assert int(np.max(u.folding().places >> 8)) < len(u.folding().pool)
