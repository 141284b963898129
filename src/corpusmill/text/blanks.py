"""White space within text: runs of blanks, ends of lines, indentation, blank lines."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.text import simd
from corpusmill.text.array_types import Bools, Bytes, Int64s
from corpusmill.text.buffers import PAD, TextBuffer, keep_nulls, to_arrow, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, ONE, U, copy_bytes, load8, lowest_bit, moved_up
from corpusmill.text.spans import below

TAB, LF, SPACE = b"\t\n "
ALL_LINES = 1 << 40  # more than a document can have

_masks = simd.masks(simd.either(simd.equal(" "), simd.equal("\t")), simd.equal("\n"), simd.equal("\t"))


class WhiteSpace(NamedTuple):
    r"""What becomes of blanks, which are spaces and tabs.

    spaces        a run of two or more after another character of the line becomes one space; blanks before "\n", "\n"
                  at the beginning of the text, and blanks and "\n" at its end are removed
    indentation   False: blanks at the beginning of each line are removed; each other tab that is left becomes a space
    newlines      longer runs of "\n" are cut to this many; at least 1
    """

    spaces: bool
    indentation: bool
    newlines: int


def lay_out(
    texts: pa.LargeStringArray,
    layout: WhiteSpace,
    replaced: Bools | None = None,
    others: pa.LargeStringArray | None = None,
) -> pa.LargeStringArray:
    """Each document with its white space as the layout says.

    replaced   (documents,): the documents to take from `others` instead of `texts`
    others     (as many as are replaced,) large_string, in their order
    returns    (documents,) large_string; nulls stay null. `texts` itself if it stays as it is
    """
    text = view(texts)
    if replaced is None or others is None:
        replaced, others = np.zeros(len(texts), np.bool_), texts[:0]
    replacements = view(others)
    offsets = np.zeros(len(text.offsets), np.int64)
    size = int(text.offsets[-1] - text.offsets[0] + replacements.offsets[-1] - replacements.offsets[0])
    out = np.empty(size + PAD, np.uint8)
    if not _lay_out(text, layout, replaced, replacements, out, offsets):
        return texts
    return keep_nulls(to_arrow(out[: offsets[-1] + PAD], offsets), texts)


@kernel
def _lay_out(
    text: TextBuffer, layout: WhiteSpace, replaced: Bools, others: TextBuffer, out: Bytes, offsets: Int64s
) -> bool:
    """Write all documents; returns whether anything changed. If not, nothing is written but the offsets."""
    pending: Any = text.offsets[
        0
    ]  # from here to the present document, the texts stay as they are and are not written yet
    other_row = 0
    for d in range(len(replaced)):
        lo, hi = text.offsets[d], text.offsets[d + 1]
        begin = offsets[d]
        if not replaced[d]:
            first = _next_place(text.data, lo, lo, hi, layout)
            if first < 0:
                offsets[d + 1] = begin + hi - lo
                continue
            copy_bytes(text.data, pending, lo - pending, out, begin - (lo - pending))
            offsets[d + 1] = _rewrite(text.data, lo, hi, first, layout, out, begin)
        else:
            copy_bytes(text.data, pending, lo - pending, out, begin - (lo - pending))
            start, end = others.offsets[other_row], others.offsets[other_row + 1]
            first = _next_place(others.data, start, start, end, layout)
            offsets[d + 1] = _rewrite(others.data, start, end, first, layout, out, begin)
            other_row += 1
        pending = hi
    end_of_all = text.offsets[len(replaced)]
    if pending == text.offsets[0] and other_row == 0:
        return False
    copy_bytes(text.data, pending, end_of_all - pending, out, offsets[len(replaced)] - (end_of_all - pending))
    return True


@kernel
def _rewrite(data: Bytes, lo: int, hi: int, change: int, layout: WhiteSpace, out: Bytes, p: int) -> Any:
    """Write the document data[lo:hi] at out[p:], of which `change` is the first byte to change; returns its end."""
    position: Any = np.intp(lo)
    while change >= 0:
        gap: Any = np.intp(change)
        while gap > position and _is_white(load8(data, gap - 1)):
            gap -= 1
        copy_bytes(data, position, gap - position, out, p)
        p += gap - position
        position = gap
        while position < hi and _is_white(load8(data, position)):
            position += 1
        p = _write_gap(data, lo, gap, position, hi, layout, out, p)
        change = _next_place(data, lo, position, hi, layout)
    copy_bytes(data, position, hi - position, out, p)
    return p + hi - position


@inlined
def _is_white(byte: Any) -> bool:
    return bool(byte in (SPACE, LF, TAB))


@inlined
def _next_place(data: Bytes, lo: int, at: int, hi: int, layout: WhiteSpace) -> Any:
    """The first place from `at` on that makes the white space around it change; -1 if there is none.

    at   the beginning `lo` of the document, or behind white space
    """
    if at >= hi:
        return -1
    if at == lo:
        first = load8(data, lo)
        if (layout.spaces and first == LF) or (not layout.indentation and first in (SPACE, TAB)):
            return lo
    enough = layout.newlines + 1
    # The two bits before the block; at the beginning, there is no other character before the blanks.
    before_blank = before_line = before_other = NO_BITS
    run: Any = np.intp(0)  # of "\n" before the block, counted only if they do not show in the bits
    while at < hi:
        blank, line, tab = _masks(data, at)
        within = below(min(64, hi - at))
        blank &= within
        line &= within
        nonblank = ~(blank | line)
        places = NO_BITS
        if layout.spaces:
            places |= line & moved_up(blank, before_blank, 1)
            places |= moved_up(nonblank, before_other, 2) & moved_up(blank, before_blank, 1) & blank
        if not layout.indentation:
            places |= (moved_up(line, before_line, 1) & blank) | (tab & within)
        if enough <= 4:
            lines = line & moved_up(line, before_line, 1)
            if enough >= 3:
                lines &= moved_up(line, before_line, 2)
            if enough == 4:
                lines &= moved_up(line, before_line, 3)
            places |= lines
        elif (line & (line << ONE)) | (line >> U(63)) != NO_BITS or (run > 0 and line & ONE != NO_BITS):
            for i in range(64):
                run = run + 1 if (line >> U(i)) & ONE != NO_BITS else 0
                if run >= enough:
                    places |= ONE << U(i)
                    break
        else:
            run = 0
        if places != NO_BITS:
            return at + lowest_bit(places)
        before_blank, before_line, before_other = blank, line, nonblank
        at += 64
    return hi - 1 if layout.spaces and _is_white(load8(data, hi - 1)) else -1


@inlined
def _write_gap(data: Bytes, lo: int, start: int, end: int, hi: int, layout: WhiteSpace, out: Bytes, p: int) -> Any:
    """Write the white space data[start:end] of the document data[lo:hi] at out[p:]; returns its end."""
    if not layout.spaces and layout.indentation:
        run = 0
        for at in range(start, end):
            byte = load8(data, at)
            run = run + 1 if byte == LF else 0
            if run <= layout.newlines:
                out[p] = byte
                p += 1
        return p
    if layout.spaces and end == hi:
        return p
    lines = 0
    last = start  # behind the last "\n"
    for at in range(start, end):
        if load8(data, at) == LF:
            lines += 1
            last = at + 1
    if not layout.spaces:
        at = start
        while start > lo and at < end and load8(data, at) != LF:
            out[p] = SPACE
            p += 1
            at += 1
    elif lines == 0 and start > lo:
        out[p] = load8(data, start) if end - start == 1 and layout.indentation else SPACE
        return p + 1
    elif start == lo:
        lines = 0
    for _ in range(min(lines, layout.newlines)):
        out[p] = LF
        p += 1
    if layout.indentation:
        copy_bytes(data, last, end - last, out, p)
        p += end - last
    return p


def warm_up() -> None:
    texts = pa.array(["a  b", "c"], pa.large_string())
    lay_out(texts, WhiteSpace(True, True, ALL_LINES))
