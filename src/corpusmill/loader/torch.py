"""A TokenLoader under PyTorch's DataLoader.

>>> data = TokenDataset(TokenLoader("shards", batch_size=8))                       # doctest: +SKIP
>>> for batch in DataLoader(data, batch_size=None, num_workers=2): ...        # doctest: +SKIP

The order of batches is that of the TokenLoader for any `num_workers`. Workers are other processes and do not advance
the TokenLoader's state; `data.state(batches)` is the state after so many batches of this iteration.
"""

from collections.abc import Iterator
from typing import Any

from corpusmill.errors import MissingExtraError
from corpusmill.loader.masks import to_torch
from corpusmill.loader.tokens import TokenLoader

try:
    from torch.utils.data import IterableDataset, get_worker_info
except ImportError:
    raise MissingExtraError("corpusmill.loader.torch", "torch") from None


class TokenDataset(IterableDataset):  # type: ignore[misc]
    """Batches as tensors; each element is a whole batch, so pass `batch_size=None` to the DataLoader."""

    def __init__(self, loader: TokenLoader) -> None:
        self.loader = loader

    def __iter__(self) -> Iterator[dict[str, Any]]:
        loader = self.loader
        worker = get_worker_info()
        first, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        # The DataLoader takes one batch from each worker in turn.
        samples = loader.samples + first * loader.batch_size * loader.world
        for _, batch in loader.stream(samples, every=workers):
            yield to_torch(batch)

    def state(self, batches: int) -> dict[str, Any]:
        """The state of the TokenLoader after so many batches of this iteration."""
        samples = self.loader.samples + batches * self.loader.batch_size * self.loader.world
        return {**self.loader.state_dict(), "samples": samples}
