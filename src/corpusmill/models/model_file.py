"""Files of our own models: arrays (`arrays.write_arrays`), one of them the model card, JSON in UTF-8."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.errors import AssetError
from corpusmill.storage.local import temporary
from corpusmill.store.arrays import map_arrays, write_arrays

Arrays = dict[str, NDArray[Any]]


def read_model(path: Path, kind: str, version: int, parts: Sequence[str], advice: str) -> tuple[dict[str, Any], Arrays]:
    """The card, and the arrays with the names `parts`, mapped.

    kind      of the model, for messages: "quality", "language"
    version   the `format` that the card must have
    advice    how to get such a model, for messages

    Raises AssetError if the file is not such a model, is damaged, or has another format.
    """
    try:
        arrays = map_arrays(path)
        card = json.loads(bytes(arrays["card"]))
        format, selected = card["format"], {part: arrays[part] for part in parts}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, MemoryError, OSError) as error:
        why = f"{type(error).__name__}: {error}"
        raise AssetError(f"{path}: not a {kind} model, or a damaged one ({why}). {advice}") from error
    if format != version:
        raise AssetError(f"{path}: {kind} model of format {format}; this reads {version}. {advice}")
    return card, selected


def write_model(path: Path, version: int, card: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a model atomically."""
    encoded = json.dumps({**card, "format": version}, indent=1, sort_keys=True, ensure_ascii=False).encode()
    with temporary(path) as part:
        write_arrays(part, {"card": np.frombuffer(encoded, np.uint8), **arrays})
        part.replace(path)
