"""Characters of a set of one's own: how many a document has, and how many of its lines begin with one."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.text.array_types import Bools, Int64s, UInt32s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import load8
from corpusmill.text.unicode import BREAK, SPACE, Classes, class_of, classes, decode

LF, CR = 10, 13


class CharacterSet(NamedTuple):
    """A set of characters.

    ascii   (128,) bool
    wide    (n,) uint32: the code points beyond ASCII
    """

    ascii: Bools
    wide: UInt32s


def count_characters(texts: pa.LargeStringArray, characters: str) -> Int64s:
    """(documents,) `sum(c in characters for c in text)`; 0 for a null."""
    text = view(texts)
    out = np.zeros(len(text.offsets) - 1, np.int64)
    _count(text, _character_set(characters), out)
    return out


def count_bullets(texts: pa.LargeStringArray, bullets: str) -> tuple[Int64s, Int64s]:
    """(documents,) each: lines of `text.splitlines()`, and those whose first character after white space is in
    `bullets`; 0 for a null."""
    text = view(texts)
    lines, bulleted = np.zeros(len(text.offsets) - 1, np.int64), np.zeros(len(text.offsets) - 1, np.int64)
    _count_bullets(text, classes(), _character_set(bullets), lines, bulleted)
    return lines, bulleted


def _character_set(characters: str) -> CharacterSet:
    points = sorted(set(map(ord, characters)))
    table = np.zeros(128, np.bool_)
    table[[point for point in points if point < 128]] = True
    return CharacterSet(table, np.array([point for point in points if point >= 128], np.uint32))


@kernel
def _count(text: TextBuffer, characters: CharacterSet, out: Int64s) -> None:
    for d in range(len(out)):
        hits = 0
        at = text.offsets[d]
        hi = text.offsets[d + 1]
        while at < hi:
            byte = load8(text.data, at)
            if byte < 0x80:
                hits += characters.ascii[np.intp(byte)]
                at += 1
            else:
                code_point, size = decode(text.data, at)
                hits += _is_wide(characters, code_point)
                at += size
        out[d] = hits


@kernel
def _count_bullets(text: TextBuffer, classes: Classes, bullets: CharacterSet, lines: Int64s, bulleted: Int64s) -> None:
    for d in range(len(lines)):
        lo, hi = text.offsets[d], text.offsets[d + 1]
        begun = False  # the line has a character
        blank = True  # it has nothing but white space so far
        at = lo
        while at < hi:
            byte = load8(text.data, at)
            code_point, size = decode(text.data, at)
            kind = class_of(classes, code_point)
            if kind & BREAK:
                # CR LF is one break.
                lines[d] += not (byte == LF and at > lo and load8(text.data, at - 1) == CR)
                begun, blank = False, True
            else:
                begun = True
                if blank and not kind & SPACE:
                    blank = False
                    bulleted[d] += bullets.ascii[np.intp(byte)] if byte < 0x80 else _is_wide(bullets, code_point)
            at += size
        lines[d] += begun


@inlined
def _is_wide(characters: CharacterSet, code_point: Any) -> Any:
    present = False
    for i in range(len(characters.wide)):
        present |= characters.wide[i] == code_point
    return present


def warm_up() -> None:
    texts = pa.array(["- a line\n• another", ""], pa.large_string())
    count_characters(texts, "#…")
    count_bullets(texts, "•-*")
