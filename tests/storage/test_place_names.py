"""The names of places: local paths, URLs, what is written of them, and what is in memory alone."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.storage import FOLDER, FileInfo, is_local, join, local_path, name_of, printable, stat
from corpusmill.storage.places import (
    address_of,
    before_wildcard,
    is_hidden,
    last_part,
    register_address,
    relative,
    scheme_of,
)
from corpusmill.system import refused_name


@pytest.mark.parametrize(
    ("place", "scheme", "local"),
    [
        ("a/b", "", True),
        ("/a", "", True),
        ("", "", True),
        ("a:b", "", True),
        ("file:///a", "file", True),
        ("FILE:///a", "file", True),
        ("demo://web", "demo", True),
        ("S3://bucket/a", "s3", False),
        ("https://a.org/x", "https", False),
        ("://a", "", True),
    ],
)
def test_a_place_is_local_or_has_a_scheme(place, scheme, local):
    assert (scheme_of(place), is_local(place)) == (scheme, local)


@pytest.mark.parametrize(
    ("place", "path"),
    [("a b/ü", "a b/ü"), ("file:///a b", "/a b"), ("./a", "./a"), ("~/a", str(Path.home() / "a"))],
)
def test_local_places_are_paths(place, path):
    assert local_path(place) == path


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        (("s3://b", "a"), "s3://b/a"),
        (("s3://b//", "a", "b/c"), "s3://b/a/b/c"),
        (("a b", "c d"), "a b/c d"),
        (("a/", "b"), "a/b"),
        (("", "b"), "b"),
        ((".", "b"), "b"),
        (("a", "/b"), "/b"),
        (("memory://x", "ü", "𝔸"), "memory://x/ü/𝔸"),
    ],
)
def test_a_place_below_another(parts, joined):
    assert join(*parts) == joined


@pytest.mark.parametrize(
    ("name", "hidden"),
    [("a/b", False), (".a", True), ("a/.b", True), ("_a/b", True), ("a/b_", False), ("a._b", False), ("", False)],
)
def test_names_that_begin_with_a_dot_or_a_line_are_hidden(name, hidden):
    assert is_hidden(name) is hidden


@pytest.mark.parametrize(
    ("path", "root", "name"),
    [
        ("a/b/c", "a", "b/c"),
        ("a/b/c", "a/", "b/c"),
        ("ab/c", "a", "ab/c"),
        ("/a/b", "", "a/b"),
        ("/a/b", "/", "a/b"),
        ("s3://b/x", "s3://b", "x"),
    ],
)
def test_a_name_is_relative_to_the_folder_above_it(path, root, name):
    assert relative(path, root) == name


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [("a/b/*.c", "a/b"), ("*.c", ""), ("/*/c", "/"), ("a/[bc]/d", "a"), ("s3://b/a?/c", "s3://b"), ("a/**/b", "a")],
)
def test_the_folder_before_the_first_wildcard(pattern, folder):
    assert before_wildcard(pattern) == folder


@pytest.mark.parametrize(("name", "last"), [("a/b", "b"), ("a/b/", "b"), ("a", "a"), ("", ""), ("s3://b/c//", "c")])
def test_the_last_part_of_a_name(name, last):
    assert last_part(name) == last


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://me:word@a.org/x", "https://a.org/x"),
        ("https://a.org/x?X-Amz-Signature=1", "https://a.org/x"),
        ("s3://b/x?y", "s3://b/x?y"),
        ("a?token=1", "a?token=1"),
    ],
)
def test_a_name_has_no_secrets(address, name):
    assert name_of(address) == name


def test_an_address_is_asked_for_by_its_name_and_what_lies_beside_it_by_the_same_user():
    name = register_address("https://me:word@places.example.org/data/a.gz?sig=1")
    assert name == "https://places.example.org/data/a.gz"
    assert address_of(name) == "https://me:word@places.example.org/data/a.gz?sig=1"
    assert address_of("https://places.example.org/data/b.gz") == "https://me:word@places.example.org/data/b.gz"
    assert address_of("https://other.example.org/a") == "https://other.example.org/a"


def test_a_file_sent_to_another_process_takes_its_address_along():
    info = FileInfo(register_address("https://me:word@sent.example.org/a"), "a", 3, "etag:1")
    data = pickle.dumps(info)
    assert b"word" in data and "word" not in repr(info)
    assert pickle.loads(data) == info


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("a/ü", "a/ü"),
        ("a\\b", "a\\b"),
        ("a\udce9", "a\\xe9"),
        ("a\\b\udcff", "a\\\\b\\xff"),
        ("a\ud800", "a\\ud800"),
    ],
)
def test_paths_that_are_not_utf_8_are_written_with_their_bytes(path, shown):
    assert printable(path) == shown


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 255).filter(lambda byte: byte not in (0, 47)), min_size=1, max_size=8))
def test_every_name_of_bytes_is_printable_and_no_two_are_written_alike(codes):
    name = bytes(codes).decode("utf-8", "surrogateescape")
    other = bytes([*codes, 0xE9]).decode("utf-8", "surrogateescape")
    assert printable(name).encode() and printable(name) != printable(other)


def test_names_with_spaces_quotes_and_other_scripts_are_files_as_any(tmp_path):
    for name in ("a b.txt", "ü—𝔸.txt", "it's.txt", "#1.txt", "100%.txt", "[x]*?.txt", "-n", "a\nb"):
        if refused_name(name):
            continue
        path = tmp_path / name
        path.write_bytes(name.encode())
        info = stat(str(path))
        assert (info.name, info.size, info.is_folder) == (name, len(name.encode()), False)


def test_a_folder_as_one_input_is_known_by_its_fingerprint():
    assert FileInfo("a", "a", 1, f"{FOLDER}12").is_folder
