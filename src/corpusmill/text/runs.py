"""Runs of letters, digits, and other characters that the caller counts as part of a word."""

from typing import Any

import numpy as np

from corpusmill.text import simd
from corpusmill.text.array_types import Bytes
from corpusmill.text.compile import inlined
from corpusmill.text.lowlevel import NO_BITS, ONE, U, load8, lowest_bit
from corpusmill.text.unicode import ALNUM, Classes, class_of, decode


def run_finder(others: str) -> Any:
    """A helper of kernels, (bytes, at, hi, classes) -> (first byte, end) of the first run of data[at:hi].

    others   ASCII characters that belong to runs, beside letters and digits (str.isalnum)

    Both are hi if there is no run. `at` must not be inside one. Never exceeds hi, even if the bytes are not UTF-8.
    """
    masks = simd.masks(simd.either(simd.ascii_letter, simd.ascii_digit, *map(simd.equal, others)), simd.not_ascii)
    belongs = np.array([chr(byte).isalnum() or chr(byte) in others for byte in range(128)])

    @inlined
    def next_run(data: Bytes, at: Any, hi: Any, classes: Classes) -> Any:
        while at < hi:
            run, wide = masks(data, at)
            skipped = lowest_bit(run | wide)
            if skipped == 64:
                at += 64
                continue
            start = at + skipped
            if start >= hi:
                break
            # Nearly every run is ASCII and ends within these 64 bytes.
            size = lowest_bit(~(run >> U(skipped)))
            if size > 0 and skipped + size < 64 and (wide >> U(skipped + size)) & ONE == NO_BITS:
                return start, min(start + size, hi)
            end = start
            while end < hi:
                width = 1
                if load8(data, end) < 0x80:
                    inside = belongs[np.intp(load8(data, end))]
                else:
                    code_point, width = decode(data, end)
                    inside = class_of(classes, code_point) & ALNUM != 0
                if not inside:
                    break
                end += width
            if end > start:
                return start, min(end, hi)
            at = start + decode(data, start)[1]
        return hi, hi

    return next_run
