"""The loss mask of a batch, where the index of its shards has a rule for it (`shards.loss`)."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.loader.columns import IGNORE, Int64s, Layout
from corpusmill.shards.layout import PADDING
from corpusmill.shards.loss import LONGEST_PREFIX, LossRule, Mask, begins_prefix, goldfish, prefix_length

Rule = tuple[LossRule, int]  # and whether documents begin with BOS
Ids = Callable[[int, int, int], NDArray[Any]]


def apply_loss(
    batch: dict[str, NDArray[Any]], layout: Layout, rules: Sequence[Rule | None], of_row: Int64s, ids: Ids
) -> None:
    """Take the loss from what the rules say, in `targets` and `loss_mask`.

    rules    one for each source; None: all tokens have a loss
    of_row   (rows,) the source of each row
    ids      the tokens [first, stop) of a file of the layout; what is before 0 is in the file before
    """
    tokens = batch["tokens"]
    off = np.zeros(tokens.shape, np.bool_)
    for source, rule in enumerate(rules):
        rows = np.flatnonzero(of_row == source)
        if rule is not None and len(rows):
            off[rows] = without_loss(tokens, layout, rule, rows, batch.get("targets"), ids)
    if "targets" in batch:
        batch["targets"][off] = IGNORE
    if "loss_mask" in batch:
        batch["loss_mask"][off] = False


def without_loss(tokens: Int64s, layout: Layout, rule: Rule, rows: Int64s, targets: Int64s | None, ids: Ids) -> Mask:
    """(rows, length) the places of these rows of which the next token has no loss."""
    loss, bos = rule
    height, length = tokens.shape
    pieces = layout.pieces
    flat = tokens.reshape(-1)
    off = np.zeros(height * length, np.bool_)
    begins = pieces.row * length + pieces.start
    if loss.without:
        sentinels = np.array(loss.without)
        off[:-1] = np.isin(flat[1:], sentinels)
        # The target of the last token of a row is in the next row of the shards.
        last = np.arange(1, height + 1) * length - 1
        off[last] = (
            np.isin(targets[:, -1], sentinels)
            if targets is not None
            else _next_is_sentinel(layout, height, ids, sentinels)
        )
    if loss.k:
        positions = np.arange(height * length) - np.repeat(begins, pieces.length)
        off |= goldfish(flat, positions, loss.k, loss.h)
    if loss.begin:
        for first, stop in _prefixes(flat, length, layout, loss, bos, ids):
            row = first // length
            # The loss of a token is at the place before it.
            off[max(first - 1, row * length) : min(stop, (row + 1) * length + 1) - 1] = True
    return off.reshape(height, length)[rows]


def _prefixes(
    flat: Int64s, length: int, layout: Layout, loss: LossRule, bos: int, ids: Ids
) -> Iterator[tuple[int, int]]:
    """The places [first, stop) of prefixes over all rows; one that crosses the end of its row stops behind it, and one
    that began in the row before begins before it."""
    pieces, copies = layout
    text = pieces.document != PADDING
    begins = pieces.row * length + pieces.start
    new = text & (pieces.offset == 0)
    starts = begins[new] + bos
    near_end = starts + LONGEST_PREFIX > (pieces.row[new] + 1) * length
    for first in begins_prefix(flat, starts[~near_end], loss):
        yield first, first + prefix_length(flat[first : first + LONGEST_PREFIX], loss)
    # Of these, a part is in another row: it is next to this one in the files.
    cut = text & (pieces.start == 0) & (pieces.offset > 0) & (pieces.offset < LONGEST_PREFIX + bos)
    for piece in [*np.flatnonzero(new)[near_end].tolist(), *np.flatnonzero(cut).tolist()]:
        row, start, ahead = int(pieces.row[piece]), int(pieces.start[piece]), bos - int(pieces.offset[piece])
        copy = int(np.searchsorted(copies.row, row))
        at = int(copies.first[copy]) - int(copies.at[copy]) + start + ahead
        size = prefix_length(ids(int(copies.file[copy]), at, at + LONGEST_PREFIX), loss)
        if size and size + ahead > 0:
            first = row * length + start + ahead
            yield max(first, row * length), first + size


def _next_is_sentinel(layout: Layout, rows: int, ids: Ids, sentinels: Int64s) -> Mask:
    """(rows,) whether the token after each row is one of the sentinels."""
    copies = layout.copies
    last = np.searchsorted(copies.row, np.arange(rows), "right") - 1
    is_sentinel = np.zeros(rows, np.bool_)
    for row, copy in enumerate(last.tolist()):
        stop = int(copies.first[copy] + copies.size[copy])
        is_sentinel[row] = bool(np.isin(ids(int(copies.file[copy]), stop - 1, stop), sentinels).any())
    return is_sentinel


def across(file: int, first: int, stop: int, mapped: Callable[[int], NDArray[Any]], files: range) -> NDArray[Any]:
    """The tokens [first, stop) of a file; what is before 0 or after its end is in its neighbours, as far as they are
    among `files`."""
    parts = []
    ids = mapped(file)
    if first < 0 and file > files.start:
        before = mapped(file - 1)
        parts.append(before[max(0, len(before) + first) : max(0, len(before) + min(stop, 0))])
    parts.append(ids[max(first, 0) : max(stop, 0)])
    if stop > len(ids) and file + 1 < files.stop:
        parts.append(mapped(file + 1)[max(0, first - len(ids)) : stop - len(ids)])
    return np.concatenate(parts)
