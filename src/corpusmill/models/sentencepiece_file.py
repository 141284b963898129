"""SentencePiece models, read by its library (the extra `sentencepiece`)."""

from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from corpusmill.assets.extras import SENTENCEPIECE
from corpusmill.errors import AssetError

# Field numbers of the protocol buffer: the pieces of a model; name and type of a piece. Values of types.
PIECE, NAME, TYPE = 1, 1, 3
NORMAL, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 3, 4, 5, 6


def load(model: bytes, path: Path) -> Any:
    """The library's processor for a model. Raises MissingExtraError without it, AssetError if it cannot read the
    model."""
    try:
        import sentencepiece
    except ImportError:
        raise SENTENCEPIECE.error(f"the SentencePiece model {path.name}") from None
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=model)
    except (RuntimeError, ValueError, TypeError) as error:
        raise AssetError(f"{path}: not a SentencePiece model, or a damaged one ({error}). Copy it again.") from error


@lru_cache(16)
def _loaded(model: bytes, path: Path) -> Any:
    return load(model, path)


def decode(model: bytes, path: Path, ids: list[int]) -> str:
    """The text of ids, with control pieces by name: the library leaves them out."""
    library = _loaded(model, path)
    parts, waiting = [], list[int]()
    for i in ids:
        if library.is_control(i):
            parts += [library.decode(waiting), library.id_to_piece(i)]
            waiting = []
        else:
            waiting.append(i)
    return "".join([*parts, library.decode(waiting)])


def pieces(model: bytes) -> list[tuple[str, int]]:
    """(text, type) of each piece of a model that `load` accepts, by id.

    Raises ValueError or LookupError if it is damaged all the same.
    """
    pieces = []
    for number, start, end in _fields(model, 0, len(model)):
        if number == PIECE:
            parts = {part: (a, b) for part, a, b in _fields(model, start, end)}
            kind = _varint(model, parts[TYPE][0])[0] if TYPE in parts else NORMAL
            pieces.append((model[slice(*parts[NAME])].decode(), kind))
    return pieces


def unused(model: bytes, names: Collection[str]) -> bytes:
    """The same model with the pieces `names` of type UNUSED, so that no text becomes one of them.

    Ids are unchanged. The library does not recognise control pieces in text, but other readers of its models do.
    """
    changed = bytearray(model)
    encoded_names = {name.encode() for name in names}
    for number, start, end in _fields(model, 0, len(model)):
        if number != PIECE:
            continue
        parts = {part: (a, b) for part, a, b in _fields(model, start, end)}
        if TYPE in parts and model[slice(*parts[NAME])] in encoded_names:
            changed[parts[TYPE][0]] = UNUSED
    return bytes(changed)


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The fields of a protocol buffer: number, first byte and end of the value."""
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            stop = _varint(data, at)[1]
        elif kind == 2:
            size, at = _varint(data, at)
            stop = at + size
        else:
            stop = at + (8 if kind == 1 else 4)
        yield key >> 3, at, stop
        at = stop


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
        if shift >= 70:
            raise ValueError(f"byte {at} is the tenth of one number")
