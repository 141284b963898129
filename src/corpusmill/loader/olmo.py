"""Rows of training shards as instances of OLMo-core.

>>> source = Instances(work_dir="/tmp/olmo", path="shards", seq_len=2048)            # doctest: +SKIP
>>> loader = ComposableDataLoader(source, collator=…, tokenizer=…, work_dir=…, global_batch_size=…)   # doctest: +SKIP
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from corpusmill.errors import MissingExtraError
from corpusmill.loader.source import RowSource
from corpusmill.loader.tokens import Path_
from corpusmill.shards.layout import TRAIN

try:
    from olmo_core.data.composable import InstanceSource
except ImportError:
    raise MissingExtraError("corpusmill.loader.olmo", libraries=["ai2-olmo-core"]) from None


class Instances(InstanceSource):  # type: ignore[misc]
    """An InstanceSource: instance n has the `input_ids` of row n, and the `label_mask`.

    `label_mask` is True for tokens that are to be predicted: not for padding, and not for the first token of a piece of
    a document, before which another document stands. OLMo-core itself shifts the labels.

    work_dir, label            of OLMo-core
    path, seq_len, seed, samples, split, tokenizer
                               as for RowSource. OLMo-core shuffles instances itself, so leave out `seed`
    """

    def __init__(
        self,
        *,
        work_dir: str | PathLike[str],
        path: Path_ | Mapping[Path_, float] | Sequence[Path_],
        seq_len: int | None = None,
        seed: int | None = None,
        samples: int | None = None,
        split: str = TRAIN,
        tokenizer: Any = None,
        label: str | None = None,
    ) -> None:
        fields = ("tokens", "loss_mask")
        self.rows = RowSource(
            path, seq_len, seed=seed, samples=samples, fields=fields, split=split, tokenizer=tokenizer
        )
        super().__init__(work_dir=work_dir, sequence_length=self.rows.loader.length, label=label)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, idx: int) -> dict[str, Any]:
        row = self.rows[self.validate_index(idx)]
        # Ours says of a token whether the next one is to be predicted. The first is nobody's label.
        return {"input_ids": row["tokens"], "label_mask": np.append(False, row["loss_mask"][:-1])}

    @property
    def fingerprint(self) -> str:
        return self.rows.fingerprint()

    def children(self) -> list[Any]:
        return []
