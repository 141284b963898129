"""Files of our own models: arrays (`arrays.write_arrays`), one of them the model card, JSON in UTF-8."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from corpusmill import system
from corpusmill.errors import AssetError
from corpusmill.storage.local import temporary
from corpusmill.store.arrays import map_arrays, write_arrays

Arrays = dict[str, NDArray[Any]]
# What Python, NumPy and JSON raise for bytes that are not what they should be.
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError, OSError)


def wrong_value(path: Path, name: str, value: object, right: object) -> AssetError:
    """The error for a file of a model in which a field has a value that no right file has.

    right   what it would be: "8, one for each word"
    """
    size = f"{path.stat().st_size:,} bytes" if path.is_file() else "no bytes"
    return AssetError(
        f"{path}: {name} is {value}, must be {right}. The file, {size}, is cut off or damaged: get it again."
    )


def read_model(
    path: Path, kind: str, version: int, parts: Mapping[str, DTypeLike], advice: str
) -> tuple[dict[str, Any], Arrays]:
    """The card, and the arrays with the names `parts`, mapped.

    kind      of the model, for messages: "quality", "language"
    version   the `format` that the card must have
    parts     the type of each array
    advice    how to get such a model, for messages

    Raises AssetError if the file is not such a model, is damaged, or has another format.
    """
    try:
        arrays = map_arrays(path)
        card = json.loads(bytes(arrays["card"]))
        format, selected = card["format"], {part: arrays[part] for part in parts}
    except DAMAGE as error:
        why = f"{type(error).__name__}: {str(error)[:200]}"
        raise AssetError(f"{path}: not a {kind} model, or a damaged one ({why}). {advice}") from error
    if format != version:
        raise AssetError(f"{path}: {kind} model of format {str(format)[:40]}; this reads {version}. {advice}")
    for part, array in selected.items():
        # Kernels are compiled for one type; another would take a minute, or be refused without a word on the file.
        if array.dtype != (right := np.dtype(parts[part])):
            raise wrong_value(path, f"the type of the array {part}", array.dtype, right)
    return card, selected


def write_model(path: Path, version: int, card: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a model atomically."""
    encoded = json.dumps({**card, "format": version}, indent=1, sort_keys=True, ensure_ascii=False).encode()
    with temporary(path) as part:
        write_arrays(part, {"card": np.frombuffer(encoded, np.uint8), **arrays})
        system.replace(part, path)
