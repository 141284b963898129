"""From patterns to files: which, under which names, in which order; and what is said where there are none."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill import storage
from corpusmill.errors import InputError
from corpusmill.storage import expand, is_in, is_outside, refuse_alike, selected


def fill(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def names(files):
    return [file.name for file in files]


def test_order_is_that_of_names_and_not_of_the_disk(tmp_path):
    fill(tmp_path, "b.txt", "a/z.txt", "a.txt", "a-1.txt", "Z.txt", "ä.txt", "10.txt", "9.txt")
    assert names(expand(str(tmp_path))) == sorted(
        ["b.txt", "a/z.txt", "a.txt", "a-1.txt", "Z.txt", "ä.txt", "10.txt", "9.txt"]
    )


def test_hidden_files_are_read_only_if_they_are_named(tmp_path):
    fill(tmp_path, "a.txt", ".b.txt", "_c/d.txt", "e/.f/g.txt")
    assert names(expand(str(tmp_path))) == ["a.txt"]
    assert names(expand(f"{tmp_path}/**/*.txt")) == ["a.txt"]
    assert names(expand(str(tmp_path / ".b.txt"))) == [".b.txt"]
    assert names(expand(str(tmp_path / "_c"))) == ["d.txt"]  # what is above the folder that is named does not count


def test_a_file_that_several_patterns_name_is_there_once(tmp_path):
    fill(tmp_path, "a.txt", "b.txt")
    patterns = [f"{tmp_path}/*.txt", str(tmp_path), str(tmp_path / "a.txt"), tmp_path]
    assert names(expand(patterns)) == ["a.txt", "b.txt"]


def test_names_are_relative_to_the_folder_that_all_share(tmp_path):
    fill(tmp_path, "x/a/1.txt", "x/b/1.txt")
    assert names(expand([str(tmp_path / "x/a"), str(tmp_path / "x/b")])) == ["a/1.txt", "b/1.txt"]
    assert names(expand([str(tmp_path / "x/a/1.txt")])) == ["1.txt"]


def test_links_to_files_are_files_and_broken_ones_are_not(tmp_path):
    fill(tmp_path, "real/a.txt", "in/a.txt")
    (tmp_path / "in/b.txt").symlink_to(tmp_path / "real/a.txt")
    (tmp_path / "in/c.txt").symlink_to(tmp_path / "gone")
    assert names(expand(str(tmp_path / "in"))) == ["a.txt", "b.txt"]
    with pytest.raises(InputError, match=r"c\.txt: no such file"):
        expand(str(tmp_path / "in/c.txt"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes on Windows")
def test_only_regular_files_are_files(tmp_path):
    fill(tmp_path, "a.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    assert names(expand(str(tmp_path))) == ["a.txt"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("{0}/a.text", r"/a\.text: no such file; did you mean \"a\.txt\""),
        ("{0}/none/a.txt", "there is no folder {0}/none"),
        ("{0}/*.csv", r"\*\.csv: no file matches\. Patterns are relative to "),
        ("{0}/sub dir\\*.csv", r'Folders are separated by "/": {0}/sub dir/\*\.csv'),
        ("{0}/empty", r"the folder has no file\. It holds: nothing\."),
        ("{0}/hidden", r"the folder has no file\. It holds: \.x\."),
    ],
)
def test_a_message_says_where_what_and_the_nearest(tmp_path, pattern, message):
    fill(tmp_path, "a.txt", "hidden/.x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=message.format(tmp_path)):
        expand(pattern.format(tmp_path))


def test_a_folder_without_the_ending_says_what_it_holds(tmp_path):
    fill(tmp_path, *(f"{n}.csv" for n in range(9)))
    with pytest.raises(InputError, match=r"no file that ends in \.jsonl, \.json\. It holds: 0\.csv, 1\.csv, 2\.csv, 3"):
        expand(str(tmp_path), (".jsonl", ".json"))


def test_two_addresses_of_one_name_are_refused():
    with pytest.raises(InputError, match=r"https://a\.org/x: two inputs differ only in what is not written down"):
        refuse_alike(["https://one:1@a.org/x", "https://two:2@a.org/x"])
    refuse_alike(["https://one:1@a.org/x", "https://one:1@a.org/x", "s3://b/x?token=1", "s3://b/x?token=2"])


@pytest.mark.parametrize(
    ("path", "pattern", "inside"),
    [
        ("a/b.txt", "a/b.txt", True),
        ("a/b.txt", "a", True),
        ("a/b.txt", "a/", True),
        ("ab/c.txt", "a", False),
        ("a/b.txt", "./a/../a", True),
        ("a/b.txt", "*.txt", False),
        ("a/b.txt", "**/*.txt", True),
        ("a/b/c.txt", "a/*", True),  # a folder above it matches
        ("a/b.txt", "a/c*", False),
        ("s3://b/a/x", "s3://b/a", True),
        ("s3://b/a/x", "s3://b/*/x", True),
        ("s3://b/a/x", "gs://b/a", False),
        ("a b/ü.txt", "a b", True),
        ("a/[b].txt", "a/[b].txt", True),
    ],
)
def test_whether_a_pattern_names_a_file(path, pattern, inside):
    assert is_in(path, pattern) is inside


def test_exclusions_leave_out_and_a_root_names_anew(tmp_path):
    fill(tmp_path, "in/a.txt", "in/b.txt", "out/c.txt")
    files = expand(str(tmp_path))
    assert names(selected(files)) == ["in/a.txt", "in/b.txt", "out/c.txt"]
    assert names(selected(files, exclude=[str(tmp_path / "in/b*")])) == ["in/a.txt", "out/c.txt"]
    rooted = selected(files, root=str(tmp_path / "in"))
    assert names(rooted) == ["a.txt", "b.txt", "../out/c.txt"]  # those outside come last
    assert [is_outside(file.name) for file in rooted] == [False, False, True]
    assert names(selected(files, root="s3://b")) == [file.path for file in files]


def test_which_other_files_there_are_changes_no_name(tmp_path):
    fill(tmp_path, "in/a.txt", "in/b.txt", "out/c.txt")
    files, root = expand(str(tmp_path)), str(tmp_path / "in")
    for file in files:
        assert names(selected([file], root)) == [name for name in names(selected(files, root)) if file.path.endswith(name.rpartition("/")[2])]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["a", "b/a", "b/b", "b/.c", "_d/a", "a b", "é"]), unique=True, min_size=1))
def test_a_folder_and_a_pattern_of_all_name_the_same(tmp_path_factory, chosen):
    folder = tmp_path_factory.mktemp("files")
    fill(folder, *(f"{name}.txt" for name in chosen))
    visible = sorted(f"{name}.txt" for name in chosen if not any(part[0] in "._" for part in name.split("/")))
    for pattern in (str(folder), f"{folder}/**/*.txt", f"{folder}/"):
        try:
            assert names(expand(pattern)) == visible
        except InputError:
            assert not visible


def test_a_remote_folder_gives_what_a_local_one_does():
    place = "memory://selection"
    for name in ("b.txt", "a/z.txt", ".hidden", "a/_x", "ü 1.txt"):
        storage.write_atomic(f"{place}/{name}", name.encode())
    assert names(expand(place)) == ["a/z.txt", "b.txt", "ü 1.txt"]
    assert names(expand(f"{place}/*.txt")) == ["b.txt", "ü 1.txt"]
    assert names(expand(place, (".csv", "z.txt"))) == ["a/z.txt"]
    with pytest.raises(InputError, match=r"memory:/+selection/c\.txt: no such file; did you mean \"b\.txt\""):
        expand(f"{place}/c.txt")
    with pytest.raises(InputError, match=r"\*\.csv: no file matches\."):
        expand(f"{place}/*.csv")


def test_a_masked_address_says_that_its_secret_is_needed():
    with pytest.raises(InputError, match=r"\*\*\* stands for a secret that was not written down"):
        expand("https://***@example.org/a.gz")
