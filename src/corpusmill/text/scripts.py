"""The scripts of a text: letters by Unicode block.

Every character in RANGES counts as a letter of its script; these are whole blocks, with the digits and marks in them,
but single letters of ASCII and Latin-1. Everything else (digits, punctuation, symbols, other scripts) is not counted.
Blocks: Unicode 15, Blocks.txt.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.text.array_types import Int32s, Int64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import load8
from corpusmill.text.unicode import decode

RANGES: dict[str, str] = {
    "latin": "41-5A 61-7A AA BA C0-D6 D8-F6 F8-24F 250-2AF 1D00-1D25 1D2C-1DBF 1E00-1EFF 2C60-2C7F "
    "A720-A7FF AB30-AB64 AB66-AB6F FB00-FB06 "
    "FF21-FF3A FF41-FF5A",
    "greek": "370-373 376-37D 37F-3E1 3F0-3FF 1D26-1D2A 1F00-1FFF AB65",
    "cyrillic": "400-52F 1C80-1C8F 1D2B 2DE0-2DFF A640-A69F",
    "armenian": "531-58A FB13-FB17",
    "hebrew": "591-5F4 FB1D-FB4F",
    "arabic": "610-66F 671-6FF 750-77F 870-8FF FB50-FDFF FE70-FEFC",
    "syriac": "700-74F 860-86F",
    "thaana": "780-7BF",
    "nko": "7C0-7FF",
    "devanagari": "900-963 966-97F A8E0-A8FF",
    "bengali": "980-9FF",
    "gurmukhi": "A00-A7F",
    "gujarati": "A80-AFF",
    "oriya": "B00-B7F",
    "tamil": "B80-BFF",
    "telugu": "C00-C7F",
    "kannada": "C80-CFF",
    "malayalam": "D00-D7F",
    "sinhala": "D80-DFF",
    "thai": "E01-E3A E40-E5B",
    "lao": "E80-EFF",
    "tibetan": "F00-FFF",
    "myanmar": "1000-109F A9E0-A9FF AA60-AA7F",
    "georgian": "10A0-10FF 1C90-1CBF 2D00-2D2F",
    "hangul": "1100-11FF 3131-318E A960-A97F AC00-D7FF FFA0-FFDC",
    "ethiopic": "1200-139F 2D80-2DDF AB00-AB2F",
    "cherokee": "13A0-13FF AB70-ABBF",
    "canadian": "1400-167F 18B0-18FF",
    "khmer": "1780-17FF 19E0-19FF",
    "mongolian": "1800-18AF",
    "tifinagh": "2D30-2D7F",
    "hiragana": "3041-309F",
    "katakana": "30A1-30FA 30FC-30FF 31F0-31FF FF66-FF9D",
    "bopomofo": "3105-312F 31A0-31BF",
    "han": "2E80-2FDF 3005-3007 3021-3029 3038-303B 3400-4DBF 4E00-9FFF F900-FAFF 20000-323AF",
    "yi": "A000-A4CF",
    "javanese": "A980-A9DF",
}
SCRIPTS = tuple(RANGES)


def _spans() -> tuple[Int32s, Int32s, Int32s]:
    """First, last + 1 and script of each range, sorted."""
    spans = []
    for number, ranges in enumerate(RANGES.values()):
        for part in ranges.split():
            first, _, last = part.partition("-")
            spans.append((int(first, 16), int(last or first, 16) + 1, number))
    table = np.array(sorted(spans), np.int32)
    return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()


FIRST, STOP, SCRIPT = _spans()


def script_counts(texts: pa.LargeStringArray) -> Int64s:
    """(documents, len(SCRIPTS)) the number of letters of each script in each document; 0 for a null."""
    text = view(texts)
    counts = np.zeros((len(texts), len(SCRIPTS)), np.int64)
    _count(text, FIRST, STOP, SCRIPT, counts)
    return counts


@kernel
def _count(text: TextBuffer, first: Int32s, stop: Int32s, script: Int32s, counts: Int64s) -> None:
    at_range = 0  # the range of the last letter: the next letter is usually in it, too
    for d in range(len(text.offsets) - 1):
        at, end = text.offsets[d], text.offsets[d + 1]
        while at < end:
            lead = load8(text.data, at)
            if lead < 0x80:
                lower = lead | 0x20
                counts[d, 0] += 0x61 <= lower <= 0x7A
                at += 1
                continue
            point, size = decode(text.data, at)
            at += size
            at_range = range_of(point, at_range, first, stop)
            if first[at_range] <= point < stop[at_range]:
                counts[d, script[at_range]] += 1


@inlined
def range_of(point: Any, at_range: Any, first: Int32s, stop: Int32s) -> Any:
    """The range that has this code point, or `at_range` if none has: that of the last letter, which is tried first."""
    if first[at_range] <= point < stop[at_range]:
        return at_range
    low, high = 0, len(first)
    while low < high:
        middle = (low + high) // 2
        if first[middle] <= point:
            low = middle + 1
        else:
            high = middle
    return low - 1 if low > 0 and point < stop[low - 1] else at_range


def warm_up() -> None:
    """Compile the kernel."""
    script_counts(pa.array(["aé日😀"], pa.large_string()))
