"""The parts of a text that are in one language each, as far as sentences, line breaks and scripts tell.

A page quotes, cites, and greets in two languages. Naive Bayes over all of it finds neither language: the n-grams of the
quotation speak against the main language in full, and for whichever class is mildest about n-grams that it never saw.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.text.array_types import Bytes, Int32s, Int64s
from corpusmill.text.buffers import view
from corpusmill.text.compile import kernel
from corpusmill.text.scripts import FIRST, SCRIPT, SCRIPTS, STOP, range_of
from corpusmill.text.unicode import BREAK, SPACE, TERMINAL, Classes, class_of, classes, decode

LONG_PART = 100  # characters after which a part ends at the next white space, and half as many more without one
MIN_PART_LETTERS = 20  # letters of a part that a sentence or line may end: menus are not read word by word
NO_SCRIPT = -1
LATIN = SCRIPTS.index("latin")
# Japanese is written in several.
ONE_SCRIPT = dict.fromkeys(("hiragana", "katakana", "bopomofo"), "han")
_script = np.array([SCRIPTS.index(ONE_SCRIPT.get(SCRIPTS[number], SCRIPTS[number])) for number in SCRIPT], np.int32)


class ScriptParts(NamedTuple):
    """first, last   (parts,) span of each, in the order of the text; each has a letter
    letters       (parts,) how many it has
    bounds        (texts + 1,) the parts of text i are bounds[i] to bounds[i + 1]
    """

    first: Int64s
    last: Int64s
    letters: Int64s
    bounds: Int64s


def cut_parts(data: Bytes, first: Int64s, last: Int64s, windows: int) -> ScriptParts:
    """The parts of data[first:last]; a text is `windows` spans one after the other, and a part is in one of them."""
    capacity = int((last - first).sum())
    begin, end, letters = np.empty((3, capacity), np.int64)
    parts = ScriptParts(begin, end, letters, np.zeros(len(first) // windows + 1, np.int64))
    _cut(data, first, last, windows, classes(), FIRST, STOP, _script, MIN_PART_LETTERS, parts)
    count = parts.bounds[-1]
    return ScriptParts(begin[:count], end[:count], letters[:count], parts.bounds)


@kernel
def _cut(
    data: Bytes,
    first: Int64s,
    last: Int64s,
    windows: int,
    classes: Classes,
    range_first: Int32s,
    range_stop: Int32s,
    range_script: Int32s,
    min_letters: int,
    parts: ScriptParts,
) -> None:
    count = 0
    range_at = 0
    for w in range(len(first)):
        at, end = first[w], last[w]
        begin, characters, letters, script = at, 0, 0, NO_SCRIPT
        while at < end:
            point, size = decode(data, at)
            its_script: Any = NO_SCRIPT
            if point < 0x80:
                if 0x61 <= point | 0x20 <= 0x7A:
                    its_script = LATIN
            else:
                range_at = range_of(point, range_at, range_first, range_stop)
                if range_first[range_at] <= point < range_stop[range_at]:
                    its_script = range_script[range_at]
            if its_script != NO_SCRIPT and script not in (NO_SCRIPT, its_script):
                parts.first[count], parts.last[count], parts.letters[count] = begin, at, letters
                count += 1
                begin, characters, letters = at, 0, 0
            if its_script != NO_SCRIPT:
                letters += 1
                script = its_script
            characters += 1
            at += size
            kind = class_of(classes, point)
            ends = (
                at >= end or characters >= LONG_PART + LONG_PART // 2 or (characters >= LONG_PART and kind & SPACE != 0)
            )
            if letters >= min_letters and not ends:
                ends = kind & BREAK != 0
            if letters >= min_letters and kind & TERMINAL != 0 and not ends:
                ends = point >= 0x80 or class_of(classes, decode(data, at)[0]) & SPACE != 0
            if ends:
                if letters > 0:
                    parts.first[count], parts.last[count], parts.letters[count] = begin, at, letters
                    count += 1
                begin, characters, letters, script = at, 0, 0, NO_SCRIPT
        if (w + 1) % windows == 0:
            parts.bounds[(w + 1) // windows] = count


def warm_up() -> None:
    """Compile all of this file."""
    cut_parts(view(pa.array(["a"], pa.large_string())).data, np.zeros(1, np.int64), np.ones(1, np.int64), 1)
