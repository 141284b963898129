"""Templates of benchmarks: boilerplate of many words in a row. Where one is found, it counts for the nearest item.

A phrase that many items share is ordinary language, a passage of a dozen words that they share is not. But to let it
count for all of its items, of which there may be thousands, would name a thousand for one, and take their time.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.text.array_types import Bools, Int32s
from corpusmill.text.compile import inlined, kernel


def in_a_row(item: Int32s, at: Int32s, min_length: int) -> Bools:
    """Which of these places, each an item and a word of it, are of at least so many words of the item in a row."""
    order = np.lexsort((at, item))
    item, at = item[order], at[order]
    begins = np.append(True, (item[1:] != item[:-1]) | (at[1:] != at[:-1] + 1))[: len(item)]
    run = np.cumsum(begins) - 1
    long = np.empty(len(item), np.bool_)
    long[order] = np.bincount(run)[run] >= min_length
    return long


def of_nearest(shared: NDArray[Any], rows: NDArray[Any], index: Any) -> NDArray[Any]:
    """The matches of the nearest item of each template in the documents, as `overlap.MATCH`.

    shared   the n-grams of templates, by document and word; `at` is the number of their run in `index.first`
    rows     all other matches, sorted by document, item and word
    index    an `overlap.Index`

    The nearest item has the largest share of its n-grams there: those of the template, and other matches no further
    from it than the length of the item. On a tie, it is the one with the smaller number.
    """
    matches = np.empty(len(shared), rows.dtype)
    while (count := _of_nearest(shared, rows, index, matches)) > len(matches):
        matches = np.empty(count, rows.dtype)
    return matches[:count]


@kernel
def _of_nearest(shared: Any, rows: Any, index: Any, matches: Any) -> int:
    """Returns how many matches there are with unlimited room."""
    first, item, at, words = index.first, index.item, index.at, index.words
    min_grams = index.template - index.n + 1  # n-grams in a row: fewer are no template
    counts, last_gram = np.zeros(len(words), np.int64), np.full(len(words), -1, np.int64)
    having = np.empty(len(words), np.int32)
    count = begin = 0
    while begin < len(shared):
        document, end = shared[begin]["document"], begin + 1
        while (
            end < len(shared)
            and shared[end]["document"] == document
            and shared[end]["word"] == shared[end - 1]["word"] + 1
        ):
            end += 1
        if end - begin >= min_grams:
            items = 0
            for s in range(begin, end):
                for position in range(first[shared[s]["at"]], first[shared[s]["at"] + 1]):
                    candidate = item[position]
                    if last_gram[candidate] != s:
                        if counts[candidate] == 0:
                            having[items] = candidate
                            items += 1
                        last_gram[candidate] = s
                        counts[candidate] += 1
            low, high = shared[begin]["word"], shared[end - 1]["word"]
            nearest: Any = -1
            best_grams: Any = 0
            best_size: Any = 1
            for k in range(items):
                candidate = having[k]
                grams, size = counts[candidate], np.int64(words[candidate] - index.n + 1)
                counts[candidate] = 0
                if grams >= min_grams:
                    grams += _before(rows, document, candidate, high + words[candidate] + 1)
                    grams -= _before(rows, document, candidate, low - words[candidate])
                    lead = grams * best_size - best_grams * size
                    if lead > 0 or (lead == 0 and candidate < nearest):
                        nearest, best_grams, best_size = np.intp(candidate), grams, size
            for s in range(begin, end if nearest >= 0 else begin):
                for position in range(first[shared[s]["at"]], first[shared[s]["at"] + 1]):
                    if item[position] == nearest:
                        if count < len(matches):
                            row = matches[count]
                            row["document"], row["item"] = document, nearest
                            row["word"], row["at"], row["template"] = shared[s]["word"], at[position], 1
                        count += 1
        begin = end
    return count


@inlined
def _before(rows: Any, document: int, item: int, word: int) -> Any:
    """How many of the sorted rows come before such a one."""
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        row = rows[middle]
        if row["document"] != document:
            less = row["document"] < document
        elif row["item"] != item:
            less = row["item"] < item
        else:
            less = row["word"] < word
        if less:
            low = middle + 1
        else:
            high = middle
    return low
