r"""Where words of a list occur in text, also in spellings that are meant to evade such lists.

A word is a run of letters, digits (str.isalnum) and the marks @ $ ! *, with at least one letter or digit; everything
else, such as "-", "_" or an apostrophe, separates words. It matches a word of the list if it has the same letters in
either case, or

    stretched     three or more of a letter in a row stand for one or two: "fuuuck"; two do not stand for one
    substituted   0 for o, 1 and ! for i or l, 3 for e, 4 and @ for a, 5 and $ for s, 7 for t, 8 for b, 9 for g; but at
                  least one character is a letter and at most half are digits, so that 455 and A55 do not match
    masked        "*" for any one letter between the first and the last of a word of four letters or more; not combined
                  with stretching
    spaced        four or more single letters, separated by the same one of space, ".", "-" and "_", without another
                  beside them in the same way; a preceding "a" or "i", separated by a space, may be a word of its own

Marks at both ends may be punctuation: "ass!" is matched with and without its "!", "**fuck**" with and without stars.
Parts of words are never matched, so nothing is found in "Scunthorpe", "assess" or "cockpit". Only words of ASCII
letters can match; a word with other letters or with diacritics does not.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corpusmill.errors import AssetError
from corpusmill.text import simd
from corpusmill.text.array_types import Bytes, Int32s, Int64s, UInt64s
from corpusmill.text.buffers import TextBuffer, view
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.folded_hash import word_hash, word_hashes
from corpusmill.text.lowlevel import NO_BITS, ONE, U, borrowed, load8, load64, lowest_bit
from corpusmill.text.runs import run_finder
from corpusmill.text.spans import below
from corpusmill.text.unicode import ALNUM, Classes, borrowed_classes, class_of, classes, decode

WORD_MARKS = "@$!*"
SUBSTITUTES = dict(pair.split("=") for pair in "0=o 1=il !=il 3=e 4=a @=a 5=s $=s 7=t 8=b 9=g".split())
SHORTEST_ENTRY, LONGEST_ENTRY = 3, 32  # letters of a word of a list
STRETCHED = 3  # so many of a letter in a row may stand for fewer, or for more
SPACED = 4  # minimum of letters in a spaced word
FORM_CAPACITY = 63  # characters of a written form, after runs are shortened to STRETCHED; one bit each

AT, DOLLAR, BANG, STAR, BLANK, DOT, DASH, UNDERSCORE = b"@$!* .-_"
LOWER_BIT = 0x20

# The letters that a byte can stand for, bit 0 for "a".
_MEANS = np.zeros(256, np.uint32)
for _letter in range(26):
    _MEANS[ord("a") + _letter] = _MEANS[ord("A") + _letter] = 1 << _letter
for _byte, _letters in SUBSTITUTES.items():
    _MEANS[ord(_byte)] = sum(1 << (ord(_letter) - ord("a")) for _letter in _letters)
_NOTHING = np.uint32(0)

_next_word = run_finder(WORD_MARKS)
_letter_mask = simd.masks(simd.ascii_letter)


class WordList(NamedTuple):
    """A list as the kernel takes it; sorted, read-only.

    slots     (slots,) uint64, a power of two: hashes of the words, 0 if free
    letters   uint8: all words, concatenated; word w is letters[start[w]:start[w + 1]]
    first     (27,) int32: words first[i] to first[i + 1] begin with the i-th letter
    longest   letters of the longest word
    """

    slots: UInt64s
    letters: Bytes
    start: Int32s
    first: Int32s
    longest: int


def read_words(path: Path) -> WordList:
    """The list of `listed_words`. Raises AssetError as that does."""
    return make_words(listed_words(path))


def listed_words(path: Path) -> list[str]:
    """The words of a UTF-8 file, sorted: they are separated by white space; "#" begins a comment.

    Raises AssetError if there are no words, or one that does not consist of 3 to 32 ASCII letters, or has more than
    three of one letter in a row.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise AssetError(f"{path}: cannot read the list of words: {error}") from error
    words: set[str] = set()
    for number, line in enumerate(lines, 1):
        for word in line.partition("#")[0].lower().split():
            if not (word.isascii() and word.isalpha()):
                raise AssetError(
                    f'{path}:{number}: "{word}" has other characters than ASCII letters. '
                    "Spellings with digits, marks or "
                    "spaces are matched automatically: write the plain word"
                )
            if not SHORTEST_ENTRY <= len(word) <= LONGEST_ENTRY or any(
                letter * (STRETCHED + 1) in word for letter in word
            ):
                raise AssetError(
                    f'{path}:{number}: "{word}" must have {SHORTEST_ENTRY} to {LONGEST_ENTRY} letters, '
                    f"and no more than {STRETCHED} of "
                    "the same in a row"
                )
            words.add(word)
    if not words:
        raise AssetError(f"{path}: a list without words")
    return sorted(words)


def make_words(words: list[str]) -> WordList:
    """The list of these words, which must be sorted and meet the conditions of `read_words`."""
    hashes = word_hashes(pa.array(words, pa.large_string()))
    slots = np.zeros(1 << (4 * len(words)).bit_length(), np.uint64)
    for h in hashes.tolist():
        slot = h & (len(slots) - 1)
        while slots[slot]:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = h
    letters = np.frombuffer("".join(words).encode(), np.uint8)
    start = np.cumsum([0, *map(len, words)]).astype(np.int32)
    first = np.searchsorted([ord(word[0]) - ord("a") for word in words], np.arange(27)).astype(np.int32)
    for array in (slots, letters, start, first):
        array.flags.writeable = False
    return WordList(slots, letters, start, first, max(map(len, words)))


def find_words(texts: pa.LargeStringArray, words: WordList) -> tuple[Int64s, Int64s]:
    """The occurrences of words of a list.

    returns   (hits, 3) int64: document, first byte, end, from the beginning of the text; and (documents,) the number of
              all words of each text. A spaced word counts once per letter or digit
    """
    text = view(texts)
    counts = np.zeros(len(text.offsets) - 1, np.int64)
    hits = np.empty((int(text.offsets[-1] - text.offsets[0]) // SHORTEST_ENTRY + 1, 3), np.int64)
    count = _find(text, words, classes(), counts, hits)
    return hits[:count].copy(), counts


@kernel
def _find(text: TextBuffer, words: WordList, classes: Classes, counts: Int64s, hits: Int64s) -> int:
    total = 0
    form = np.empty(FORM_CAPACITY, np.uint8)
    # References to what is handed on for every word would be counted, which takes longer than to look at it.
    data, classes = borrowed(text.data), borrowed_classes(classes)
    words = WordList(
        borrowed(words.slots), borrowed(words.letters), borrowed(words.start), borrowed(words.first), words.longest
    )
    for d in range(len(counts)):
        base, hi = text.offsets[d], text.offsets[d + 1]
        at: Any = base
        count = 0
        while True:
            start, end = _next_word(data, at, hi, classes)
            if start == end:
                break
            at = end
            hit = False
            if end - start == 1:
                letters, filled = _collect(data, start, hi, form, classes)
                if letters > 1:
                    at = start + 2 * letters - 1
                    hit = letters >= SPACED and filled and _is_form_of_any(form, letters, words)
                    a_word = form[0] in (ord("a"), ord("i"))
                    if not hit and letters > SPACED and filled and a_word and load8(data, start + 1) == BLANK:
                        for k in range(1, letters):
                            form[k - 1] = form[k]
                        hit = _is_form_of_any(form, letters - 1, words)
                        count += hit
                        start += 2 * hit
                    if not hit:
                        at -= 1  # the last letter may begin another spaced word: "a d.a.m.n"
                    for k in range(start, at, 2):
                        count += _is_alnum(load8(data, k))
                    end = at
                else:
                    count += load8(data, start) >= 0x80 or _is_alnum(load8(data, start))
            elif _is_plain(data, start, end):
                count += 1
                hit = _is_listed(data, start, end, words)
            else:
                count += _has_alnum(data, start, end)
                start, end = _as_written(data, start, end, form, words)
                hit = start < end
            if hit:
                hits[total, 0], hits[total, 1], hits[total, 2] = d, start - base, end - base
                total += 1
        counts[d] = count
    return total


@inlined
def _is_plain(data: Bytes, start: Any, end: Any) -> bool:
    """Whether a word consists of ASCII letters, none three times in a row, so that no other spelling need be tried."""
    size = end - start
    if size > LONGEST_ENTRY:
        return False
    (letter,) = _letter_mask(data, start)
    if ~letter & below(size) != NO_BITS:
        return False
    at = start
    while at + 2 < end:
        chunk = load64(data, at) | U(0x2020202020202020)
        pair = chunk ^ (chunk >> U(8))  # a zero byte where two letters are the same
        three = pair | (pair >> U(8))
        three |= ~below(8 * min(end - at - 2, 6))
        if (three - U(0x0101010101010101)) & ~three & U(0x8080808080808080) != NO_BITS:
            return False
        at += 6
    return True


@inlined
def _is_listed(data: Bytes, start: Any, end: Any, words: WordList) -> bool:
    """Whether a plain word is in the list, letter by letter."""
    if not SHORTEST_ENTRY <= end - start <= words.longest:
        return False
    h = word_hash(data, start, end)
    mask = len(words.slots) - 1
    slot = np.intp(h) & mask
    while words.slots[slot] != NO_BITS:
        if words.slots[slot] == h:
            return True
        slot = (slot + 1) & mask
    return False


@kernel
def _as_written(data: Bytes, start: int, end: int, form: Bytes, words: WordList) -> Any:
    """The part of a word that is a spelling of one of the list: all of it, or without marks at its ends; empty if none
    is."""
    letters = False
    for at in range(start, end):
        byte = load8(data, at)
        if _MEANS[np.intp(byte)] == _NOTHING and byte != STAR:  # beyond ASCII, or a digit that stands for no letter
            return start, start
        letters |= 97 <= (byte | LOWER_BIT) <= 122
    if not letters:
        return start, start
    lo, hi = start, end
    for stripping in range(3):
        before = hi - lo
        while lo < hi and _is_stripped(load8(data, lo), stripping):
            lo += 1
        while lo < hi and _is_stripped(load8(data, hi - 1), stripping):
            hi -= 1
        if stripping > 0 and hi - lo == before:
            continue
        filled = _shorten(data, lo, hi, form)
        if filled >= SHORTEST_ENTRY and _is_form_of_any(form, filled, words):
            return lo, hi
    return start, start


@inlined
def _is_stripped(byte: Any, stripping: int) -> bool:
    """Nothing at first; then "!" and "*", which rarely are a letter at the end of a word; then all marks."""
    if stripping == 0:
        return False
    if byte in (STAR, BANG):
        return True
    return stripping == 2 and byte in (AT, DOLLAR)


@inlined
def _shorten(data: Bytes, start: int, end: int, form: Bytes) -> int:
    """Write data[start:end] in lower case, with at most STRETCHED of the same in a row except stars; returns how many
    characters that are, 0 if there is no room for them."""
    filled = 0
    same = 0
    for at in range(start, end):
        byte = _lower(load8(data, at))
        same = same + 1 if filled > 0 and form[filled - 1] == byte else 1
        if same > STRETCHED and byte != STAR:
            continue
        if filled == FORM_CAPACITY:
            return 0
        form[filled] = byte
        filled += 1
    return filled


@inlined
def _lower(byte: Any) -> Any:
    return byte | LOWER_BIT if 65 <= byte <= 90 else byte


@kernel
def _collect(data: Bytes, start: int, hi: int, form: Bytes, classes: Classes) -> Any:
    """(characters, whether `form` has room for them) of a spaced word: single characters from `start` on, separated by
    the same character, written in lower case. Each can stand for a letter; (1, …) if no other follows."""
    if start + 2 >= hi:
        return 1, False
    between = load8(data, start + 1)
    if between not in (BLANK, DOT, DASH, UNDERSCORE):
        return 1, False
    characters = 0
    at = start
    while at < hi and _MEANS[np.intp(load8(data, at))] != _NOTHING and not _goes_on(data, at + 1, hi, classes):
        if characters < FORM_CAPACITY:
            form[characters] = _lower(load8(data, at))
        characters += 1
        if at + 1 >= hi or load8(data, at + 1) != between:
            break
        at += 2
    return max(characters, 1), characters <= FORM_CAPACITY


@inlined
def _goes_on(data: Bytes, at: int, hi: int, classes: Classes) -> bool:
    """Whether the word before `at` continues there; "!" and "*" at its end are punctuation."""
    while at < hi and (load8(data, at) == BANG or load8(data, at) == STAR):
        at += 1
    if at >= hi:
        return False
    byte = load8(data, at)
    if byte < 0x80:
        return _is_alnum(byte) or byte in (AT, DOLLAR)
    return bool(class_of(classes, decode(data, at)[0]) & ALNUM != 0)


@inlined
def _is_alnum(byte: Any) -> Any:
    return 97 <= (byte | LOWER_BIT) <= 122 or 48 <= byte <= 57


@inlined
def _has_alnum(data: Bytes, start: Any, end: Any) -> bool:
    """Whether a word has a letter or digit; all its characters beyond ASCII are."""
    at = start
    while at < end and not (load8(data, at) >= 0x80 or _is_alnum(load8(data, at))):
        at += 1
    return bool(at < end)


@kernel
def _is_form_of_any(form: Bytes, n: int, words: WordList) -> bool:
    """Whether form[:n] is a spelling of a word of the list."""
    letters = digits = stars = 0
    for i in range(n):
        letters += 97 <= form[i] <= 122
        digits += 48 <= form[i] <= 57
        stars += form[i] == STAR
    if letters == 0 or 2 * digits > n:
        return False
    if stars > 0 and (n < 4 or form[0] == STAR or form[n - 1] == STAR):
        return False
    means = _MEANS[np.intp(form[0])]
    for letter in range(26):
        if (means >> np.uint32(letter)) & np.uint32(1):
            for word in range(words.first[letter], words.first[letter + 1]):
                lo, hi = words.start[word], words.start[word + 1]
                if stars > 0:
                    if hi - lo == n and _is_masked(form, n, words.letters, lo):
                        return True
                    continue
                second = _stands_for(form[1], words.letters[lo + 1]) or _stands_for(form[1], words.letters[lo])
                if hi - lo <= n and second and _is_form(form, n, words.letters, lo, hi):
                    return True
    return False


@inlined
def _stands_for(byte: Any, letter: Any) -> bool:
    return bool((_MEANS[np.intp(byte)] >> np.uint32(letter - 97)) & np.uint32(1))


@inlined
def _is_masked(form: Bytes, n: int, letters: Bytes, lo: int) -> bool:
    for i in range(n):
        if form[i] != STAR and not _stands_for(form[i], letters[lo + i]):
            return False
    return True


@kernel
def _is_form(form: Bytes, n: int, letters: Bytes, lo: int, hi: int) -> bool:
    """Whether form[:n] is letters[lo:hi], stretched or substituted. "1" can be two letters, so all ways are tried: bit
    i of `ends` is set if the letters so far can end before form[i]."""
    ends = ONE
    at = lo
    while at < hi and ends != NO_BITS:
        letter = letters[at]
        count = 0
        while at < hi and letters[at] == letter:
            count += 1
            at += 1
        after = NO_BITS
        while ends != NO_BITS:
            begin = lowest_bit(ends)
            ends &= ends - ONE
            size = 0
            while begin + size < n and _stands_for(form[begin + size], letter):
                size += 1
                if size == count or size >= STRETCHED:
                    after |= ONE << U(begin + size)
        ends = after
    return bool((ends >> U(n)) & ONE)


def warm_up() -> None:
    words = make_words(["abc"])
    for spelling in ("abc", "a b c d", "@bccc", "a*bc!"):
        find_words(pa.array([spelling], pa.large_string()), words)
