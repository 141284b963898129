import errno
import os
import shutil
import sys
import threading
from pathlib import Path

import pytest
import xxhash

from corpusmill import storage
from corpusmill.errors import InputError, MissingExtraError, StorageError
from corpusmill.storage import local


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """a/one.txt  a/two.txt  b/three.txt  b/.hidden  b/_SUCCESS  and an empty folder"""
    monkeypatch.chdir(tmp_path)
    for name in ("a/one.txt", "a/two.txt", "b/three.txt", "b/.hidden", "b/_SUCCESS"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(name)
    Path("empty").mkdir()
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a/one.txt", ["one.txt"]),
        ("a", ["one.txt", "two.txt"]),
        ("*/t*.txt", ["a/two.txt", "b/three.txt"]),
        ("**/*.txt", ["a/one.txt", "a/two.txt", "b/three.txt"]),
        (["b", "a/two.txt", "a/*.txt"], ["a/one.txt", "a/two.txt", "b/three.txt"]),
        (["a/two.txt", "a/one.txt"], ["one.txt", "two.txt"]),
    ],
)
def test_patterns_name_files_once_sorted_relative_to_what_they_share(tree, pattern, expected):
    found = storage.expand(pattern)
    assert [info.name for info in found] == expected
    assert all(Path(info.path).read_text().endswith(info.name) and info.size for info in found)


def test_paths_stay_as_the_pattern_found_them(tree):
    assert [info.path for info in storage.expand("./a/*.txt")] == ["./a/one.txt", "./a/two.txt"]


def test_a_folder_gives_only_the_endings_asked_for(tree):
    (tree / "a/three.csv").write_text("x")
    assert [info.name for info in storage.expand("a", (".csv",))] == ["three.csv"]
    with pytest.raises(InputError, match=r"a: the folder has no file that ends in \.jsonl\. It holds: one\.txt"):
        storage.expand("a", (".jsonl",))


def test_a_name_with_a_wildcard_in_it_is_found_as_it_is(tree):
    (tree / "a/x[1].txt").write_text("x")
    assert [info.name for info in storage.expand("a/x[1].txt")] == ["x[1].txt"]
    assert storage.stat("a/x[1].txt").size == 1


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a/onne.txt", r'a/onne\.txt: no such file; did you mean "one\.txt"\?'),
        ("nowhere/one.txt", "there is no folder nowhere"),
        ("a/*.md", r"a/\*\.md: no file matches"),
        ("empty", "the folder has no file"),
        ([], "the list of files is empty"),
        ("nothing://bucket/x", '"nothing" is no kind of place'),
    ],
)
def test_a_pattern_that_names_nothing_says_what_is_there(tree, pattern, message):
    with pytest.raises(InputError, match=message):
        storage.expand(pattern)


def test_the_fingerprint_changes_when_a_file_does(tree):
    before = storage.stat("a/one.txt").fingerprint
    os.utime("a/one.txt", ns=(1, 1))
    assert storage.stat("a/one.txt").fingerprint == "mtime:1" != before


def test_reads_from_an_offset_and_a_range(tree):
    with storage.open_read("a/one.txt", 2) as file:
        assert file.read() == b"one.txt"
    assert storage.read_range("a/one.txt", 2, 5) == b"one"
    assert storage.read_range("a/one.txt", 6, 500) == b"txt"
    with pytest.raises(InputError, match="a/none: no such file"):
        storage.open_read("a/none")


def test_checksums_are_xxh3_128_of_the_content(tree):
    (tree / "big").write_bytes(b"ab" * (9 << 20))  # more than one block
    assert storage.checksum("big") == xxhash.xxh3_128_hexdigest(b"ab" * (9 << 20))


@pytest.mark.parametrize("moment", ["_write_synced", "link"])
def test_created_once_although_the_folder_is_tidied_away_meanwhile(tmp_path, monkeypatch, moment):
    where = os if moment == "link" else local
    real, times = getattr(where, moment), iter([True, True, False, False])

    def behind_the_tidier(*arguments):
        if next(times):
            shutil.rmtree(tmp_path / "leases")
        return real(*arguments)

    monkeypatch.setattr(where, moment, behind_the_tidier)
    path = str(tmp_path / "leases" / "results-1.json")
    assert storage.create_once(path, b"mine")
    assert storage.read_bytes(path) == b"mine"
    assert not storage.create_once(path, b"another's")


def test_create_once_succeeds_for_one_of_many_and_keeps_what_it_wrote(tmp_path):
    path = str(tmp_path / "commits/1.json")
    barrier = threading.Barrier(8)
    won = []

    def create(number):
        barrier.wait()
        if storage.create_once(path, b"%d" % number):
            won.append(number)

    threads = [threading.Thread(target=create, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert storage.read_bytes(path) == b"%d" % won[0]
    assert names(tmp_path / "commits") == ["1.json"]


def test_a_write_that_fails_leaves_nothing_and_keeps_what_was_there(tmp_path):
    path = str(tmp_path / "out")
    storage.write_atomic(path, b"old")
    with pytest.raises(RuntimeError), storage.open_write(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert storage.read_bytes(path) == b"old"
    assert names(tmp_path) == ["out"]
    storage.write_atomic(path, b"new")
    assert storage.read_bytes(path) == b"new"


def test_a_full_disk_is_said_with_the_room_that_is_left(tmp_path):
    said = pytest.raises(StorageError, match=r"out: no room left \(.* GB free of .* GB on")
    with said as caught, storage.open_write(str(tmp_path / "out")):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.errno == errno.ENOSPC
    assert names(tmp_path) == []


def test_unfinished_writes_are_not_listed(tmp_path):
    path = str(tmp_path / "out")
    with storage.open_write(path):
        assert storage.list_dir(str(tmp_path)) == []
        assert len(names(tmp_path)) == 1
    assert storage.list_dir(str(tmp_path)) == ["out"]
    assert storage.list_dir(str(tmp_path / "nowhere")) == []


def test_folders_are_made_and_files_removed_without_fuss(tmp_path):
    storage.make_dir(str(tmp_path / "a/b"))
    storage.make_dir(str(tmp_path / "a/b"))
    storage.write_atomic(str(tmp_path / "a/b/c"), b"x")
    assert storage.exists(str(tmp_path / "a/b/c"))
    storage.remove(str(tmp_path / "a/b/c"))
    storage.remove(str(tmp_path / "a/b/c"))
    assert not storage.exists(str(tmp_path / "a/b/c"))


def test_an_object_store_behaves_as_a_disk_does():
    place = "memory://storage-test"
    assert storage.list_dir(place) == []
    assert storage.create_once(f"{place}/commits/1.json", b"first")
    assert not storage.create_once(f"{place}/commits/1.json", b"second")
    assert storage.read_bytes(f"{place}/commits/1.json") == b"first"
    with storage.open_write(f"{place}/data/a.bin") as file:
        file.write(b"0123456789")
    assert storage.list_dir(f"{place}/data") == ["a.bin"]
    assert storage.read_range(f"{place}/data/a.bin", 3, 5) == b"34"
    assert [info.name for info in storage.expand(place)] == ["commits/1.json", "data/a.bin"]
    assert [info.name for info in storage.expand(f"{place}/*/a.*")] == ["data/a.bin"]
    assert [info.name for info in storage.expand(f"{place}/data/a.bin")] == ["a.bin"]
    with pytest.raises(InputError, match=r'no such file; did you mean "a\.bin"'):
        storage.expand(f"{place}/data/a.bun")


def test_a_store_that_cannot_create_once_says_so():
    with pytest.raises(StorageError, match="https:// cannot create a file only if it does not exist"):
        storage.create_once("https://example.org/x", b"")


@pytest.mark.parametrize(
    ("path", "extra", "package"),
    [
        ("s3://bucket/key", "s3", "obstore"),
        ("gs://bucket/key", "gs", "obstore"),
        ("az://container/key", "az", "obstore"),
    ],
)
def test_a_store_whose_package_is_missing_names_the_extra(monkeypatch, path, extra, package):
    import fsspec

    def missing(path):
        raise ImportError(f"Install {package}")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setenv("AWS_REGION", f"not-asked-before-{path}")
    with pytest.raises(MissingExtraError, match=rf"pip install 'corpusmill\[{extra}\]'"):
        storage.expand(path)


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        (("s3://bucket/run/", "a"), "s3://bucket/run/a"),
        (("runs/web", "a", "b"), "runs/web/a/b"),
        (("/", "a"), "/a"),
        (("file:///tmp", "a"), "/tmp/a"),
    ],
)
def test_places_join(parts, joined):
    assert storage.join(*parts) == joined
