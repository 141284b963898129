"""Files of our own models: written and read, damaged, of another kind or format."""

import json
from typing import Any

import numpy as np
import pytest

from corpusmill.errors import AssetError
from corpusmill.models.model_file import read_model, write_model
from corpusmill.store.arrays import write_arrays

ARRAYS: dict[str, Any] = {"weights": np.arange(5, dtype=np.float32), "empty": np.empty(0, np.int64)}

TYPES: dict[str, Any] = {"weights": np.float32, "empty": np.int64, "bias": np.float32}


@pytest.fixture
def path(tmp_path):
    write_model(tmp_path / "model", 3, {"name": "é", "format": 1}, ARRAYS)
    return tmp_path / "model"


def read(path, parts=("weights", "empty"), version=3):
    return read_model(path, "made", version, {part: TYPES[part] for part in parts}, "Make it again.")


def test_a_model_is_read_as_it_was_written(path):
    card, arrays = read(path)
    assert card == {"name": "é", "format": 3}
    assert set(arrays) == {"weights", "empty"} and all((arrays[name] == ARRAYS[name]).all() for name in arrays)
    assert read(path, ())[1] == {}
    assert [other.name for other in path.parent.iterdir()] == ["model"]


def test_a_part_that_is_missing_is_named(path):
    with pytest.raises(
        AssetError, match=r"model: not a made model, or a damaged one \(KeyError: 'bias'\). Make it again."
    ):
        read(path, ("bias",))


def test_an_array_of_another_type_is_named(path):
    with pytest.raises(AssetError, match="the type of the array weights is float32, must be int32"):
        read_model(path, "made", 3, {"weights": np.int32}, "Make it again.")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"shape": [5]', b'"shape":[99]', "buffer is smaller than requested size"),
        (b'"shape": [5]', b'"shape":[-1]', r"the array weights has the shape \[-1\]"),
        (b'"offset": 128', b'"offset":-128', "at byte -128"),
        (b'"offset": 128', b'"offset": 127', "at byte 127"),
        (b'"<f4"', b'"|O8"', "OBJECT array"),
    ],
)
def test_a_head_that_lies_is_refused(path, old, new, said):
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))
    with pytest.raises(AssetError, match=said):
        read(path)


@pytest.mark.parametrize("size", [1 << 20, 1 << 40, (1 << 64) - 1])
def test_a_head_longer_than_its_file_is_not_read(path, size):
    path.write_bytes(path.read_bytes()[:8] + size.to_bytes(8, "little") + b"{")
    with pytest.raises(AssetError, match=f"says that its arrays begin at byte {size + 16}, and has 17 bytes"):
        read(path)


def test_a_card_as_deep_as_a_well_is_refused(tmp_path):
    write_arrays(tmp_path / "model", {"card": np.frombuffer(b"[" * 100_000, np.uint8), **ARRAYS})
    with pytest.raises(AssetError, match="RecursionError"):
        read(tmp_path / "model")


def test_another_format_is_refused(path):
    with pytest.raises(AssetError, match=r"made model of format 3; this reads 4. Make it again."):
        read(path, version=4)


def test_a_truncated_file_is_refused_unless_nothing_of_an_array_is_gone(path, tmp_path):
    content, whole = path.read_bytes(), 0
    for size in range(0, len(content) - 1, 7):
        (tmp_path / "cut").write_bytes(content[:size])
        try:
            _, arrays = read(tmp_path / "cut")
        except AssetError as error:
            assert "cut: not a made model, or a damaged one" in str(error)
        else:
            whole += 7
            assert all(arrays[name].tolist() == ARRAYS[name].tolist() for name in ARRAYS)
    assert whole <= 128


@pytest.mark.parametrize("card", [b"", b"{", b"[]", b"3", b"{}", b"\xff", json.dumps({"format": None}).encode()])
def test_a_card_that_is_none_is_refused(tmp_path, card):
    write_arrays(tmp_path / "model", {"card": np.frombuffer(card, np.uint8), **ARRAYS})
    with pytest.raises(AssetError, match="made model"):
        read(tmp_path / "model")


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for name in ("missing", "."):
        with pytest.raises(AssetError, match="not a made model"):
            read(tmp_path / name)
