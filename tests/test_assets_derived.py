"""What is made of assets is made once, and whole or not at all."""

import pytest

from corpusmill import assets
from corpusmill.errors import AssetError


def test_a_folder_is_made_once_and_found_again(tmp_path):
    made = []

    def make(folder):
        made.append(folder)
        (folder / "it").write_text("it")

    paths = {assets.derived(tmp_path, "thing-1", make) for _ in range(3)}
    assert paths == {tmp_path / "thing-1"} and len(made) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["thing-1"]
    assert (tmp_path / "thing-1" / "it").read_text() == "it"


def test_what_fails_leaves_nothing(tmp_path):
    def fail(folder):
        (folder / "half").touch()
        raise AssetError("no")

    with pytest.raises(AssetError, match=r"^no$"):
        assets.derived(tmp_path, "thing", fail)
    assert not list(tmp_path.iterdir())


def test_the_one_of_a_process_that_was_faster_is_taken(tmp_path):
    def make(folder):
        (tmp_path / "thing").mkdir()
        (tmp_path / "thing" / "theirs").touch()
        (folder / "ours").touch()

    path = assets.derived(tmp_path, "thing", make)
    assert [file.name for file in path.iterdir()] == ["theirs"]


def test_no_folder_to_keep_it_in_is_an_error():
    with pytest.raises(AssetError, match="set CORPUSMILL_CACHE"):
        assets.derived(None, "thing", lambda folder: None)


def test_patterns_name_files_in_order(tmp_path, monkeypatch):
    for name in ("b.txt", "a.txt", "c.md", "[x].txt"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert assets.matching("[ab].txt") == ["a.txt", "b.txt"]
    assert assets.matching(str(tmp_path / "?.md")) == [str(tmp_path / "c.md")]
    assert assets.matching("[x].txt") == ["[x].txt"]  # a file of just that name
    assert assets.matching("none.txt") == ["none.txt"]
    with pytest.raises(AssetError, match="no file matches"):
        assets.matching("z*.txt")


def test_a_tilde_that_names_no_home_is_part_of_the_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssetError, match='there is no asset "~nobody-of-this-name"'):
        assets.locate("~nobody-of-this-name")
    (tmp_path / "~nobody-of-this-name.txt").touch()
    assert assets.matching("~nobody-*.txt") == ["~nobody-of-this-name.txt"]
