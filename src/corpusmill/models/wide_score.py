"""Naive Bayes over the n-grams of bytes that an automaton finds: every class's score, and the best names.

    score(class) = log prior + sum over the distinct n-grams f of log(1 + count of f) * log(P(f|class) / P(f))

An automaton reads one byte at a time and names at most one n-gram per position: the longest of the model's that ends
there. Source: Lui and Baldwin 2011 (langid.py), ACL I11-1062, whose model py3langid 0.4 trains with these counts.
"""

from typing import Any, NamedTuple

import numpy as np

from corpusmill.text.array_types import Bools, Bytes, Float32s, Int8s, Int16s, Int32s, Int64s, UInt32s
from corpusmill.text.compile import inlined, kernel
from corpusmill.text.lowlevel import NO_BITS, Bits, U, load8, lowest_bit, prefetch
from corpusmill.text.simd import between, either, equal, masks, not_ascii
from corpusmill.text.spans import below

UNIT = 1024  # log(1 + count) is an integer in these parts, so that sums do not depend on their order
MAX_COUNTED = 1024  # further occurrences of one n-gram in one text do not count
NGRAM_BLOCK = 256  # n-grams summed at a time: 256 * 7098 * 128 < 2**31, and of those counted alike 256 * 128 = 2**15
COUNTED_ALIKE = 3  # n-grams that a text has once, twice, three times, 93 %, are summed before they are multiplied
NO_NAME = -1
MIN_LOG_SHARE = -20  # log of the smallest share that is counted
FIRST_CAPITALS, LAST_CAPITALS = 0xC3, 0xD6  # lead bytes of Latin, Greek, Cyrillic and Armenian letters
BLANK = np.uint8(0x20)
LINE = 64  # bytes of memory that come at once
PARALLEL_READS = 8  # places of a text that are read at once: one byte waits for the one before, and the memory is slow
FOUND = 1024  # n-grams that are found before they are counted


class Wide(NamedTuple):
    """The model as the kernels take it.

    moves     (rows * 256,) uint32: row and byte -> state
    states    (states, 2) int32: first position of its row in `moves`; the n-gram that ends here, 0 for none
    table     (n-grams + 1, classes) int8: log of P(n-gram|class) / P(n-gram|any class) in `step`s; row 0 is 0
    ceiling   (n-grams + 1,) int8: the largest of the row that belongs to a language
    prior     (classes,) float32
    expected  (classes,) float32: misfit of a text that has each n-gram as often as the class; see `name_texts`
    name      (classes,) int32: which name a class has; NO_NAME for the class of what is no language
    logs      (MAX_COUNTED,) int32: log(1 + count) in UNITs
    step      what 1 in `table` is
    depth     bytes of the longest n-gram
    """

    moves: UInt32s
    states: Int32s
    table: Int8s
    ceiling: Int8s
    prior: Float32s
    expected: Float32s
    name: Int32s
    logs: Int32s
    step: float
    depth: int


wide_bytes = masks(not_ascii)
suspects_of = masks(either(between(0xCC, 0xCD), equal("\xe1")))


@kernel
def gather(data: Bytes, first: Int64s, last: Int64s, bounds: Int64s, out: Bytes, offsets: Int64s, odd: Bools) -> None:
    """Write the spans of each text after each other, a space between them, and all white space as spaces.

    first, last   (spans,) of `data`; empty ones are left out
    bounds        (texts + 1,) the spans of text i are bounds[i] to bounds[i + 1]
    out           written; has room for all spans and a byte for each
    offsets       (texts + 1,) written: text i is out[offsets[i]:offsets[i + 1]]
    odd           (texts,) written: may have decomposed letters, or be in capitals
    """
    at = 0
    offsets[0] = 0
    for i in range(len(odd)):
        begin = at
        for w in range(bounds[i], bounds[i + 1]):
            if last[w] == first[w]:
                continue
            if at > begin:
                out[at] = BLANK
                at += 1
            at = put_spaced(data, first[w], last[w], out, at)
        offsets[i + 1] = at
        odd[i] = has_marks(out, begin, at) or may_be_capitals(out[begin:at])


@inlined
def put_spaced(data: Bytes, begin: int, end: int, out: Bytes, p: int) -> Any:
    """Write data[begin:end] at out[p:], each white space of Unicode and U+200B, the zero-width space, as a space, and
    without U+00AD, U+2060 and U+FEFF, which are not seen; returns its end."""
    at = begin
    while at < end:
        if at + 64 <= end and wide_bytes(data, at)[0] == NO_BITS:
            # The same for 64 bytes of ASCII, with vector instructions.
            for k in range(64):
                byte = load8(data, at + k)
                out[U(p + k)] = BLANK if byte <= 0x20 and (byte >= 0x1C or 0x09 <= byte <= 0x0D) else byte
            at += 64
            p += 64
            continue
        lead = load8(data, at)
        size, blank, unseen = 1, False, False
        if lead <= 0x20:
            blank = lead == 0x20 or 0x09 <= lead <= 0x0D or lead >= 0x1C
        elif lead >= 0xC2:
            second, third = load8(data, at + 1), load8(data, at + 2)
            if lead == 0xC2:
                size = 2
                blank = second in (0x85, 0xA0)
                unseen = second == 0xAD
            elif lead == 0xE2 and second == 0x80:
                size = 3
                blank = third <= 0x8B or third in (0xA8, 0xA9, 0xAF)
            elif lead == 0xE2 and second == 0x81:
                size = 3
                blank = third == 0x9F
                unseen = third == 0xA0
            elif (lead == 0xE3 and second == 0x80) or (lead == 0xE1 and second == 0x9A):
                size = 3
                blank = third == 0x80
            elif lead == 0xEF and second == 0xBB:
                size = 3
                unseen = third == 0xBF
        if blank:
            out[p] = BLANK
            p += 1
        elif not unseen:
            for k in range(size):
                out[p + k] = load8(data, at + k)
            p += size
        at += size
    return p


@inlined
def has_marks(text: Bytes, begin: int, end: int) -> bool:
    """Whether text[begin:end] has combining diacritics (U+0300 to U+036F) or conjoining letters of Korean."""
    for at in range(begin, end, 64):
        suspects = suspects_of(text, at)[0] & below(min(end - at, 64))
        while suspects != NO_BITS:
            place = at + lowest_bit(suspects)
            first, second = load8(text, place), load8(text, place + 1)
            if first == 0xCC or (first == 0xCD and second < 0xB0) or (first == 0xE1 and 0x84 <= second <= 0x87):
                return True
            suspects &= suspects - U(1)
    return False


@inlined
def may_be_capitals(text: Bytes) -> bool:
    """Whether there may be capitals and no other letters that have them; a False is certain."""
    capitals = False
    for at in range(len(text)):
        byte = text[at]
        if 97 <= byte <= 122:
            return False
        if byte in (0xCE, 0xCF) and at + 1 < len(text) and (byte == 0xCF or text[at + 1] >= 0xB1):  # Greek
            return False
        if byte in (0xD0, 0xD1) and at + 1 < len(text) and (byte == 0xD1 or text[at + 1] >= 0xB0):  # Cyrillic
            return False
        capitals |= 65 <= byte <= 90 or FIRST_CAPITALS <= byte <= LAST_CAPITALS
    return capitals


@kernel
def score(data: Bytes, offsets: Int64s, model: Wide, scores: Float32s, weights: Int64s, best: Float32s) -> None:
    """The score of every class for each text.

    scores    (texts, classes) written: without the prior
    weights   (texts,) written: the sum of log(1 + count) in UNITs; 0 for a text without a known n-gram
    best      (texts,) written: the score of a language that has each n-gram as often as the one that has it most
    """
    table, logs, ceiling = model.table, model.logs, model.ceiling
    # What is behind the classes is 0; 32 columns are added at a time.
    classes = min((len(model.prior) + 31) // 32 * 32, table.shape[1])
    scores[:, classes:] = 0
    counts = np.zeros(len(table), np.int32)
    ngrams, found = np.empty(len(table) + 1, np.int32), np.empty(FOUND + 1, np.int32)
    alike = np.empty((COUNTED_ALIKE + 1, len(table) + 1), np.int32)
    once, twice, thrice, more = alike[0], alike[1], alike[2], alike[3]
    narrow, block, total = np.empty(classes, np.int16), np.empty(classes, np.int32), np.empty(classes, np.int64)
    for i in range(len(offsets) - 1):
        distinct = count(data, offsets[i], offsets[i + 1], model, counts, ngrams, found)
        n1, n2, n3, n_more = 0, 0, 0, 0
        for j in range(distinct):
            # Written to all four, and kept in one: a branch would be mispredicted too often.
            ngram = U(ngrams[j])
            times = counts[ngram]
            once[U(n1)], twice[U(n2)], thrice[U(n3)], more[U(n_more)] = ngram, ngram, ngram, ngram
            n1 += times == 1
            n2 += times == 2
            n3 += times == 3
            n_more += times > 3
        total[:] = 0
        best_total = add_alike(table, ceiling, once, n1, np.int64(logs[1]), narrow, total)
        best_total += add_alike(table, ceiling, twice, n2, np.int64(logs[2]), narrow, total)
        best_total += add_alike(table, ceiling, thrice, n3, np.int64(logs[3]), narrow, total)
        weight = n1 * np.int64(logs[1]) + n2 * np.int64(logs[2]) + n3 * np.int64(logs[3])
        for begin in range(0, n_more, NGRAM_BLOCK):
            block[:] = 0
            for j in range(begin, min(begin + NGRAM_BLOCK, n_more)):
                row = U(more[j])
                times = logs[min(counts[row], MAX_COUNTED - 1)]
                weight += times
                best_total += times * np.int64(ceiling[row])
                for c in range(classes):
                    block[c] += times * np.int32(table[row, c])
            for c in range(classes):
                total[c] += block[c]
        for j in range(distinct):
            counts[U(ngrams[j])] = 0
        for c in range(classes):
            scores[i, c] = np.float32(np.float64(total[c]) * model.step / UNIT)
        weights[i] = weight
        best[i] = np.float32(np.float64(best_total) * model.step / UNIT)


@inlined
def add_alike(table: Int8s, ceiling: Int8s, ngrams: Int32s, n: int, times: Bits, narrow: Int16s, total: Int64s) -> Bits:
    """Add the rows of ngrams[:n], which a text has equally often, `times` each, to `total`: in 16 bits before they are
    multiplied, four rows at a time. Returns what their ceilings add.

    narrow   (classes,) scratch
    """
    ceilings = np.int64(0)
    for begin in range(0, n, NGRAM_BLOCK):
        narrow[:] = 0
        end = min(begin + NGRAM_BLOCK, n)
        four = end - (end - begin) % 4
        for j in range(begin, four, 4):
            a, b, c, d = U(ngrams[j]), U(ngrams[j + 1]), U(ngrams[j + 2]), U(ngrams[j + 3])
            ceilings += np.int64(ceiling[a]) + np.int64(ceiling[b]) + np.int64(ceiling[c]) + np.int64(ceiling[d])
            for k in range(len(narrow)):
                narrow[k] += np.int16(np.int16(table[a, k]) + np.int16(table[b, k])) + np.int16(
                    np.int16(table[c, k]) + np.int16(table[d, k])
                )
        for j in range(four, end):
            a = U(ngrams[j])
            ceilings += np.int64(ceiling[a])
            for k in range(len(narrow)):
                narrow[k] += np.int16(table[a, k])
        for k in range(len(narrow)):
            total[k] += np.int32(times) * np.int32(narrow[k])
    return times * ceilings


@inlined
def count(data: Bytes, begin: int, end: int, model: Wide, counts: Int32s, ngrams: Int32s, found: Int32s) -> int:
    """Count the n-grams of data[begin:end] in `counts`, and write the distinct ones to `ngrams`; returns how many.

    counts   (n-grams + 1,) 0 on entry
    found    (FOUND + 1,) scratch: the n-grams in the order in which they are found. Counted at once, the reading would
             wait for the counts of before
    """
    moves, states = model.moves, model.states
    n, waiting = 0, 0
    part = (end - begin) // PARALLEL_READS
    state = U(0)
    at = begin
    if part >= model.depth:
        s1, s2, s3, s4, s5, s6, s7 = U(0), U(0), U(0), U(0), U(0), U(0), U(0)
        a1, a2, a3, a4 = begin + part, begin + 2 * part, begin + 3 * part, begin + 4 * part
        a5, a6, a7 = begin + 5 * part, begin + 6 * part, begin + 7 * part
        # A state depends on the last `depth` bytes alone, so the bytes before a place lead to the state there.
        for k in range(model.depth, 0, -1):
            s1 = step(moves, states, s1, load8(data, a1 - k))
            s2 = step(moves, states, s2, load8(data, a2 - k))
            s3 = step(moves, states, s3, load8(data, a3 - k))
            s4 = step(moves, states, s4, load8(data, a4 - k))
            s5 = step(moves, states, s5, load8(data, a5 - k))
            s6 = step(moves, states, s6, load8(data, a6 - k))
            s7 = step(moves, states, s7, load8(data, a7 - k))
        for done in range(0, part, FOUND // PARALLEL_READS):
            for k in range(done, min(done + FOUND // PARALLEL_READS, part)):
                state = step(moves, states, state, load8(data, begin + k))
                s1 = step(moves, states, s1, load8(data, a1 + k))
                s2 = step(moves, states, s2, load8(data, a2 + k))
                s3 = step(moves, states, s3, load8(data, a3 + k))
                s4 = step(moves, states, s4, load8(data, a4 + k))
                s5 = step(moves, states, s5, load8(data, a5 + k))
                s6 = step(moves, states, s6, load8(data, a6 + k))
                s7 = step(moves, states, s7, load8(data, a7 + k))
                waiting = note(states[state, 1], found, waiting)
                waiting = note(states[s1, 1], found, waiting)
                waiting = note(states[s2, 1], found, waiting)
                waiting = note(states[s3, 1], found, waiting)
                waiting = note(states[s4, 1], found, waiting)
                waiting = note(states[s5, 1], found, waiting)
                waiting = note(states[s6, 1], found, waiting)
                waiting = note(states[s7, 1], found, waiting)
            n = tally(found, waiting, model.table, counts, ngrams, n)
            waiting = 0
        at = a7 + part
        state = s7
    while at < end:
        state = step(moves, states, state, load8(data, at))
        waiting = note(states[state, 1], found, waiting)
        at += 1
        if waiting == FOUND:
            n = tally(found, waiting, model.table, counts, ngrams, n)
            waiting = 0
    return tally(found, waiting, model.table, counts, ngrams, n)


@inlined
def step(moves: UInt32s, states: Int32s, state: Bits, byte: Bits) -> Bits:
    return U(moves[U(states[state, 0]) + U(byte)])


@inlined
def note(ngram: int, found: Int32s, waiting: int) -> int:
    """Written in any case, and kept if it is one: a branch would be mispredicted too often."""
    found[U(waiting)] = ngram
    return waiting + (ngram != 0)


@inlined
def tally(found: Int32s, waiting: int, table: Int8s, counts: Int32s, ngrams: Int32s, n: int) -> int:
    """Count found[:waiting], and have their rows of the table brought near. Written to `ngrams` in any case, and kept
    if it is new."""
    for j in range(waiting):
        ngram = U(found[j])
        row = np.int64(ngram) * table.shape[1]
        for line in range(0, table.shape[1], LINE):
            prefetch(table, row + line)
        ngrams[U(n)] = ngram
        n += counts[ngram] == 0
        counts[ngram] += 1
    return n


@kernel
def name_texts(
    offsets: Int64s,
    scores: Float32s,
    weights: Int64s,
    best: Float32s,
    model: Wide,
    heat: float,
    shares: Float32s,
    likeliest: Int64s,
    misfit: Float32s,
    expected: Float32s,
    lead: Float32s,
) -> None:
    """The share of each name, and how badly the likeliest class fits each text.

    shares     (texts, names) written: the softmax of score * heat / sqrt(bytes), summed over the classes of a name. The
               n-grams of a text are not independent: without that factor nearly every share is 0 or 1.
    likeliest  (texts,) written: the name with the largest share; of equal ones, and without any, the first
    misfit     (texts,) written: how far the likeliest class's score is below `best`, per weight
    expected   (texts,) written: the misfit that is expected of a text of that class
    lead       (texts,) written: how far the likeliest class's score, prior and all, is above that of no language
    """
    classes = len(model.prior)
    full = np.empty(classes, np.float64)
    named = np.empty(classes, np.int64)
    nothings = np.flatnonzero(model.name == NO_NAME)
    for i in range(len(weights)):
        for c in range(classes):
            full[c] = np.float64(scores[i, c]) + model.prior[c]
        top, highest, nothing = 0, -np.inf, -np.inf
        for c in range(classes):
            if full[c] > highest and model.name[c] != NO_NAME:
                top, highest = c, full[c]
        for k in range(len(nothings)):
            nothing = max(nothing, full[nothings[k]])
        shares[i, :] = 0
        likeliest[i], misfit[i], expected[i], lead[i] = 0, 0, 0, 0
        if weights[i] == 0:
            continue
        misfit[i] = np.float32((best[i] - scores[i, top]) * UNIT / weights[i])
        expected[i] = model.expected[top]
        lead[i] = highest - nothing
        factor = heat / np.sqrt(offsets[i + 1] - offsets[i] + 1.0)
        lowest = highest + MIN_LOG_SHARE / factor
        total = 0.0
        count = 0
        for c in range(classes):
            if full[c] > lowest and model.name[c] != NO_NAME:
                share = np.exp((full[c] - highest) * factor)
                shares[i, model.name[c]] += np.float32(share)
                total += share
                named[count] = model.name[c]
                count += 1
        largest = np.float32(0)
        for k in range(count):
            share = shares[i, named[k]]
            if share > largest or (share == largest and named[k] < likeliest[i]):
                largest, likeliest[i] = share, named[k]
        for k in range(count):
            shares[i, named[k]] = -abs(shares[i, named[k]])
        for k in range(count):
            # A name of several classes is divided once.
            if shares[i, named[k]] < 0:
                shares[i, named[k]] = np.float32(shares[i, named[k]] / -total)


@kernel
def best_two(shares: Float32s, best: Int32s, values: Float32s) -> None:
    """The two largest of each row, of equal ones the first.

    best, values   (texts, 2) written: where they are, -1 where what is left is 0; and what they are
    """
    for i in range(len(shares)):
        best[i, :] = -1
        values[i, :] = 0
        for j in range(shares.shape[1]):
            share = shares[i, j]
            if share > values[i, 1]:
                if share > values[i, 0]:
                    best[i, 1], values[i, 1] = best[i, 0], values[i, 0]
                    best[i, 0], values[i, 0] = j, share
                else:
                    best[i, 1], values[i, 1] = j, share
