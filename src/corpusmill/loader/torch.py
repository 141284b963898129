"""A TokenLoader under PyTorch's DataLoader, and under torchdata's StatefulDataLoader.

>>> data = TokenDataset(TokenLoader("shards", batch_size=8))                       # doctest: +SKIP
>>> for batch in DataLoader(data, batch_size=None, num_workers=2): ...        # doctest: +SKIP

The order of batches is that of the TokenLoader for any `num_workers`. Workers are other processes and do not advance
the TokenLoader's state; `data.state(batches)` is the state after so many batches of this iteration. A
StatefulDataLoader asks the dataset in each of its workers for its state, and resumes each at its own.
"""

from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any

from corpusmill.assets.extras import TORCH
from corpusmill.errors import ShardError
from corpusmill.loader.arguments import shown, whole_number
from corpusmill.loader.masks import to_torch
from corpusmill.loader.tokens import MAX_SAMPLES, TokenLoader

try:
    from torch.utils.data import IterableDataset, get_worker_info
except ImportError:
    raise TORCH.error("corpusmill.loader.torch") from None


class TokenDataset(IterableDataset):  # type: ignore[misc]
    """Batches as tensors; each element is a whole batch, so pass `batch_size=None` to the DataLoader."""

    def __init__(self, loader: TokenLoader) -> None:
        self.loader = loader
        self._next: int | None = None  # samples before the next batch of this process, while it iterates
        self._resume: int | None = None  # where the next iteration begins, if a state was loaded

    def __iter__(self) -> Iterator[dict[str, Any]]:
        loader = self.loader
        first, workers = _worker()
        # The DataLoader takes one batch from each worker in turn.
        samples = loader.samples + first * loader.batch_size * loader.world
        if self._resume is not None:
            samples, self._resume = self._resume, None
        self._next = samples
        for before, batch in loader.stream(samples, stride=workers):
            self._next = before + workers * loader.batch_size * loader.world
            yield to_torch(batch)

    def state(self, batches: int) -> dict[str, Any]:
        """The state of the TokenLoader after so many batches of this iteration."""
        return {**self.loader.state_dict(), "samples": self.loader.after(self.loader.samples, batches)}

    def state_dict(self) -> dict[str, Any]:
        """Where this process goes on: called by a StatefulDataLoader, in each of its workers.

        With 0 or 1 worker a TokenLoader resumes at it, too. With more of them, it belongs to this worker alone.
        """
        loader = self.loader
        first, workers = _worker()
        begin = loader.samples + first * loader.batch_size * loader.world
        resume_points = [samples for samples in (self._resume, self._next) if samples is not None]
        samples = resume_points[0] if resume_points else begin
        return {**loader.state_dict(), "samples": samples, "workers": workers, "step": loader.batch_size * loader.world}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iteration goes on there. Raises ShardError if the state is of other data or another order, and, of
        several workers, if their number, the batch size or the world size was another: see `state`."""
        loader = self.loader
        loader_copy = copy(loader)
        loader_copy.load_state_dict(state)
        current = {"workers": max(_worker()[1], 1), "step": loader.batch_size * loader.world}
        theirs = {name: whole_number(f"{name} of the state", state.get(name), 1, MAX_SAMPLES) for name in current}
        if max(current["workers"], theirs["workers"]) > 1 and theirs != current:
            raise ShardError(
                f"the state is of a worker of {shown(theirs)}, this is one of {shown(current)} (step is batch_size × "
                "world). The batches between the workers are not in it. Keep them, or save data.state(batches) and "
                "load that into the TokenLoader: it resumes with any."
            )
        self._resume = loader_copy.samples


def _worker() -> tuple[int, int]:
    """The number of this worker, and how many there are."""
    worker = get_worker_info()
    return (worker.id, worker.num_workers) if worker else (0, 1)
