"""Token ids of documents: made once, by the pass that writes their texts, and chosen from by what comes after it.

Outputs and notes of that pass:

    ids    the token ids of the documents in `docs`, one after the other; `lengths`, (documents,) how many of each; and
           if packing may cut documents at certain places only, `breaks`, the ids before each of these
"""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpusmill.engine.work.token_files import IDS, read_ids
from corpusmill.errors import AssetError
from corpusmill.models.token_breaks import token_breaks
from corpusmill.models.tokenizer import Tokenizer
from corpusmill.models.unexpressed import unexpressed
from corpusmill.shards.pack import UnitTokens
from corpusmill.steps import Arranges, Tokenize, keeps_parts
from corpusmill.store.facts import add, merge
from corpusmill.store.unit_io import UnitIO, Upstream
from corpusmill.tokens.breaks import SplitAt, of_documents

SAMPLE = 16  # documents per unit on which the fast tokenizer is compared with the reference
NO_TEXT = pa.array([""], pa.large_string())


@dataclass
class TokenIds:
    """Encodes the documents of a unit, batch by batch.

    The first documents of the unit are encoded by the reference tokenizer too; the facts say how many were compared,
    and what of all documents the tokenizer cannot express.
    """

    step: Tokenize
    split_at: SplitAt | None
    room: int | None  # tokens of a row
    io: UnitIO
    _ids: list[NDArray[Any]] = field(default_factory=list)
    _lengths: list[NDArray[np.int64]] = field(default_factory=list)
    _breaks: list[NDArray[np.int64]] = field(default_factory=list)
    _tokens: int = 0
    _unchecked: int = SAMPLE

    def __post_init__(self) -> None:
        self._tokenizer: Tokenizer = self.step.open()
        self._special = special_tokens(self.step)

    def add(self, texts: pa.LargeStringArray, docs: pa.RecordBatch) -> NDArray[np.int64]:
        """(documents,) tokens of each text, without those that begin and end a document.

        docs   the documents of these texts, with `id` and `url`

        Raises AssetError if an id differs from the reference's.
        """
        arranged = None
        if isinstance(self.step, Arranges):
            columns = {"id": docs["id"], "url": docs["url"], "text": texts}
            arranged = self.step.arrange(pa.RecordBatch.from_pydict(columns), self.room, self.split_at)
        if arranged is not None:
            ids, lengths, at = arranged
            self._breaks.append(self._tokens + at)
        else:
            ids, lengths = self.step.encode(texts)
            if self.split_at:
                at = token_breaks(self._tokenizer, texts, ids, lengths, self.split_at)
                self._breaks.append(self._tokens + at)
        self._ids.append(ids)
        self._lengths.append(lengths)
        self._tokens += len(ids)
        if measured := unexpressed(self._tokenizer, texts, ids, lengths):
            merge(self.io.facts, {"unexpressed": asdict(measured)})
        if self._unchecked:
            self._check(texts.slice(0, self._unchecked))
            self._unchecked -= min(self._unchecked, len(texts))
        counts: NDArray[np.int64] = lengths - self._special
        return counts

    def write(self, among: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Returns (documents,) the tokens of each.

        among   (documents,) which documents were added, if not all: the others have none
        """
        arrays = {"ids": np.concatenate([np.empty(0, self._tokenizer.dtype), *self._ids])}
        arrays["lengths"] = np.concatenate([np.empty(0, np.int64), *self._lengths])
        if among is not None:
            lengths = np.zeros(len(among), np.int64)
            lengths[among] = arrays["lengths"]
            arrays["lengths"] = lengths
        if self.split_at or keeps_parts(self.step):
            arrays["breaks"] = np.concatenate([np.empty(0, np.int64), *self._breaks])
        self.io.write_arrays(IDS, len(arrays["lengths"]), **arrays)
        return arrays["lengths"]

    def _check(self, texts: pa.Array) -> None:
        """Compare ids with those of the reference, and count what was compared, and which engine was at work."""
        tokenizer = self._tokenizer
        checked = tokenizer.check(texts)
        if checked.differing:
            raise AssetError(
                f"{tokenizer.spec}: the engine {tokenizer.engine.name} gives other ids than the reference for "
                f"{checked.differing} of {checked.documents} documents of unit {self.io.key}. Use the reference: "
                f"tokenize/bpe: {{engine: {tokenizer.reference.name}}}."
            )
        add(self.io.facts, "checked", "documents", count=checked.documents)
        add(self.io.facts, "checked", "differing", count=checked.differing)
        add(self.io.facts, "checked", "engines", f"{tokenizer.engine.name} {tokenizer.reference.name}")


def special_tokens(step: Tokenize) -> int:
    """Tokens that begin and end each document."""
    _, (length,) = step.encode(NO_TEXT)
    return int(length) - int(step.count(NO_TEXT)[0])


def read_tokens(files: Upstream, tokens: str, ids: str) -> UnitTokens:
    """The tokens of a unit, with the places at which documents may be cut; see `token_files.read_ids`."""
    values, lengths = read_ids(files, tokens, ids)
    own, arrays = files.arrays(tokens), files.arrays(ids)
    breaks = arrays.get("breaks")
    if breaks is not None and "chosen" in own:
        kept_mask = np.zeros(len(arrays["lengths"]), bool)
        kept_mask[own["chosen"]] = True
        breaks = of_documents(breaks, arrays["lengths"], kept_mask)
    return UnitTokens(values, lengths, breaks)
