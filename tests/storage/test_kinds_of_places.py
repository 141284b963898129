"""What a run relies on, alike on a disk and in memory: the same calls, the same answers."""

import errno
import os
from pathlib import Path

import pytest

from corpusmill import storage
from corpusmill.errors import InputError, StorageError
from corpusmill.storage import TEMPORARY


@pytest.fixture(params=["disk", "memory"])
def place(request, tmp_path):
    if request.param == "disk":
        return str(tmp_path / "a folder")
    return f"memory://kinds-{tmp_path.name}"


def test_what_is_written_is_read(place):
    for name, data in (("a", b""), ("b/c.txt", b"x"), ("b/ü 1", bytes(range(256)) * 50)):
        storage.write_atomic(f"{place}/{name}", data)
        assert storage.read_bytes(f"{place}/{name}") == data
        assert storage.size_of(f"{place}/{name}") == len(data) and storage.exists(f"{place}/{name}")
    storage.write_atomic(f"{place}/a", b"new")
    assert storage.read_bytes(f"{place}/a") == b"new"


def test_folders_are_listed(place):
    for name in ("b", "a", "c/d", f"{TEMPORARY}half"):
        storage.write_atomic(f"{place}/{name}", b"123")
    assert storage.list_dir(place) == ["a", "b", "c"]
    assert storage.list_sizes(place) == {"a": 3, "b": 3}
    assert storage.list_dir(f"{place}/none") == [] and storage.list_sizes(f"{place}/none") == {}


def test_what_is_not_there(place):
    assert storage.size_of(f"{place}/none") is None and not storage.exists(f"{place}/none")
    storage.remove(f"{place}/none")
    storage.remove_files([f"{place}/none", f"{place}/none either"])
    storage.remove_files([])
    storage.remove_tree(f"{place}/none")
    with pytest.raises(InputError, match="none: no such file or folder"):
        storage.read_bytes(f"{place}/none")
    with pytest.raises(InputError, match="none: no such file or folder"):
        storage.open_read(f"{place}/none")


def test_ranges(place):
    storage.write_atomic(f"{place}/a", b"0123456789")
    assert storage.read_range(f"{place}/a", 0, 0) == b""
    assert storage.read_range(f"{place}/a", 8, 99) == b"89"
    assert storage.read_ranges(f"{place}/a", [(0, 2), (5, 6), (2, 5)]) == [b"01", b"5", b"234"]
    assert storage.read_ranges(f"{place}/a", []) == []
    with storage.open_read(f"{place}/a", 4) as file:
        assert (file.read(2), file.tell()) == (b"45", 6)
        file.seek(-1, os.SEEK_END)
        assert file.read() == b"9" and file.read() == b""


def test_created_once(place):
    assert storage.create_once(f"{place}/x/1.json", b"first")
    assert not storage.create_once(f"{place}/x/1.json", b"second")
    assert storage.read_bytes(f"{place}/x/1.json") == b"first"
    assert storage.list_dir(f"{place}/x") == ["1.json"]


def test_a_write_that_fails_leaves_what_was_there(place):
    storage.write_atomic(f"{place}/a", b"old")
    for name in ("a", "b"):
        with pytest.raises(KeyError), storage.open_write(f"{place}/{name}") as file:
            file.write(b"half")
            raise KeyError
    assert storage.read_bytes(f"{place}/a") == b"old"
    assert storage.list_dir(place) == ["a"]


def test_copies_moves_and_removals(place):
    storage.write_atomic(f"{place}/a", b"data")
    storage.copy(f"{place}/a", f"{place}/x/b")
    storage.move(f"{place}/a", f"{place}/y/c")
    assert storage.read_bytes(f"{place}/x/b") == storage.read_bytes(f"{place}/y/c") == b"data"
    assert storage.list_dir(place) == ["x", "y"]
    storage.remove_tree(f"{place}/x")
    storage.remove_files([f"{place}/y/c"])
    assert not storage.exists(f"{place}/x/b") and not storage.exists(f"{place}/y/c")


def test_checksums_tell_content_apart_and_places_not(place, tmp_path):
    storage.write_atomic(f"{place}/a", b"data" * 1000)
    (tmp_path / "same").write_bytes(b"data" * 1000)
    (tmp_path / "other").write_bytes(b"data" * 999 + b"Data")
    same, other = storage.checksum(tmp_path / "same"), storage.checksum(tmp_path / "other", once=True)
    assert storage.checksum(f"{place}/a") == same != other and len(same) == 32


def test_uploads_and_downloads(tmp_path):
    place = f"memory://up-{tmp_path.name}"
    (tmp_path / "a").write_bytes(b"data")
    storage.upload(tmp_path / "a", f"{place}/b c")
    storage.download(f"{place}/b c", tmp_path / "new/folder/d")
    assert (tmp_path / "new/folder/d").read_bytes() == b"data"
    with pytest.raises(InputError, match="none: no such file"):
        storage.download(f"{place}/none", tmp_path / "new/e")
    assert [path.name for path in (tmp_path / "new").rglob("*")] == ["folder", "d"]
    marks = storage.list_tree(place)
    assert list(marks) == ["b c"] and marks["b c"].startswith("4 ")


def test_what_killed_writers_left_is_removed_and_nothing_else(tmp_path):
    left = [f"{TEMPORARY}{'0' * 32}-a", f"b/{TEMPORARY}probe-{'f' * 32}"]
    stays = ["a", f"{TEMPORARY}mine", f"b/x{TEMPORARY}{'0' * 32}"]
    for name in (*left, *stays):
        storage.write_atomic(str(tmp_path / name), b"")
    storage.remove_unfinished(str(tmp_path))
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == sorted(stays)


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(StorageError, match="a: is a file, not a folder"):
        storage.make_dir(str(tmp_path / "a"))
    with pytest.raises(StorageError, match=r"b: Not a directory|b: File exists|is a file"):
        storage.write_atomic(str(tmp_path / "a/b"), b"")
    with pytest.raises(InputError, match="is a folder, not a file"):
        storage.read_bytes(str(tmp_path))
    assert storage.size_of(str(tmp_path)) is None and storage.exists(str(tmp_path))
    storage.make_dir("memory://anything")  # there is nothing to make


def test_names_as_long_as_a_file_system_takes_can_be_written(tmp_path):
    name = "n" * 255
    storage.write_atomic(str(tmp_path / name), b"x")
    assert storage.create_once(str(tmp_path / ("m" * 255)), b"y")
    assert storage.list_dir(str(tmp_path)) == ["m" * 255, name]
    with pytest.raises(StorageError, match="File name too long"):
        storage.write_atomic(str(tmp_path / ("n" * 256)), b"x")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), r"no room left \(.* GB free of .*\)\. Make room and run"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "no room left"),
        (OSError(errno.EFBIG, "File too large"), r"larger than this process may write \(ulimit -f\)"),
        (OSError(errno.EIO, "Input/output error"), "out: Input/output error"),
        (PermissionError(errno.EACCES, "Permission denied"), "Change its permissions, or those of a folder above it"),
    ],
)
def test_errors_of_the_system_say_the_path_and_what_to_do(tmp_path, error, message):
    caught = pytest.raises(StorageError, match=message)
    with caught as raised, storage.open_write(str(tmp_path / "out")):
        raise error
    assert raised.value.errno == error.errno
    assert storage.is_full(error) is (error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
    assert list(Path(tmp_path).iterdir()) == []


def test_an_error_of_ours_passes_as_it_is(tmp_path):
    for error in (InputError("ours"), FileExistsError("there"), ZeroDivisionError("a bug")):
        with pytest.raises(type(error), match=str(error)), storage.open_write(str(tmp_path / "out")):
            raise error


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nothing://bucket/x", 'nothing://bucket/x: "nothing" is no kind of place that is known'),
        ("memori://x", 'did you mean "memory"'),
    ],
)
def test_a_kind_of_place_that_there_is_not(path, message):
    with pytest.raises(InputError, match=message):
        storage.read_bytes(path)


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_a_url_without_a_bucket_or_with_keys_in_it_is_refused(scheme):
    pytest.importorskip("obstore")
    with pytest.raises(InputError, match=rf"there is no bucket in it, as in {scheme}://BUCKET/folder"):
        storage.read_bytes(f"{scheme}://")
    with pytest.raises(InputError, match="keys and signatures in a URL are not used"):
        storage.read_bytes(f"{scheme}://key:secret@bucket/a")
