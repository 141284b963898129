import pytest

from corpusmill import assets
from corpusmill.errors import AssetError

KEY = "0123456789abcdef"


def test_a_key_comes_from_a_variable_or_a_file_and_white_space_around_it_does_not_count(monkeypatch, tmp_path):
    monkeypatch.setenv("A_KEY", KEY)
    (tmp_path / "key").write_text(f" {KEY}\n")
    found = assets.key("env:A_KEY")
    assert len(found) == 64 and assets.key(str(tmp_path / "key")) == found
    monkeypatch.setenv("A_KEY", KEY[::-1])
    assert assets.key("env:A_KEY") != found


def test_the_digest_of_a_key_changes_with_it_and_does_not_tell_it(monkeypatch):
    monkeypatch.setenv("A_KEY", KEY)
    digest = assets.digest("env:A_KEY")
    assert digest == assets.digest("env:A_KEY")
    assert KEY not in digest and assets.key("env:A_KEY").hex() not in digest
    monkeypatch.setenv("A_KEY", KEY[::-1])
    assert assets.digest("env:A_KEY") != digest


@pytest.mark.parametrize("held", ["", "12 34", "fifteen letters"])
def test_a_key_that_can_be_guessed_is_refused_and_not_shown(monkeypatch, tmp_path, held):
    monkeypatch.setenv("A_KEY", held)
    (tmp_path / "key").write_text(held)
    for name in ("env:A_KEY", str(tmp_path / "key")):
        with pytest.raises(AssetError, match=f"has {len(held)} bytes; .* takes 16 or more. Make one") as raised:
            assets.key(name)
        assert not held or held not in str(raised.value)


def test_a_variable_that_is_not_set_is_reported():
    with pytest.raises(AssetError, match="the environment variable NO_SUCH_KEY is not set"):
        assets.key("env:NO_SUCH_KEY")
