"""Which token may attend to which: never across documents.

A batch's `doc_ids` are not enough: packing `best_fit` can place two pieces of a document in one row that are not
adjacent in the document. `position_ids` restart at every piece, so these functions use them.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.assets.extras import TORCH

if TYPE_CHECKING:
    import torch


def pieces(position_ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """(rows, length) the number of each token's piece within its row."""
    return np.cumsum(np.asarray(position_ids) == 0, axis=1) - 1


def block_mask(position_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(rows, length, length) True where the token of the second axis may attend to that of the third.

    That is itself and the earlier tokens of its piece: a block-diagonal causal mask. For short rows and tests: it takes
    length × length bytes per row.
    """
    piece = pieces(position_ids)
    length = piece.shape[1]
    causal = np.tril(np.ones((length, length), bool))
    return np.asarray((piece[:, :, None] == piece[:, None, :]) & causal)


def flex_mask(position_ids: "torch.Tensor") -> Callable[..., Any]:
    """The same as a `mask_mod` for `torch.nn.attention.flex_attention.create_block_mask`, on the tensor's device.

    >>> mask = create_block_mask(flex_mask(ids), B=len(ids), H=None, Q_LEN=n, KV_LEN=n)   # doctest: +SKIP
    """
    piece = (position_ids == 0).cumsum(dim=1)

    def mask_mod(batch: Any, head: Any, query: Any, key: Any) -> Any:
        return (query >= key) & (piece[batch, query] == piece[batch, key])

    return mask_mod


def longest(cu_seqlens: NDArray[np.int32]) -> int:
    """`max_seqlen` for FlashAttention's varlen functions, beside `cu_seqlens`."""
    return int(np.diff(cu_seqlens).max())


def to_torch(batch: dict[str, NDArray[Any]], device: str | None = None) -> dict[str, "torch.Tensor"]:
    """A batch as tensors; on the CPU they share memory with the arrays."""
    try:
        import torch
    except ImportError:
        raise TORCH.error("to_torch") from None
    tensors = {name: torch.from_numpy(array) for name, array in batch.items()}
    if device is None:
        return tensors
    return {name: tensor.to(device, non_blocking=True) for name, tensor in tensors.items()}
