"""Files on the web: a server that stumbles is asked again, and what it gives is compared with what was asked for."""

import pytest

from corpusmill import retry, storage
from corpusmill.errors import InputError, StorageError
from made_crawl import serving

CONTENT = bytes(range(256)) * 40


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    (folder / "a.bin").write_bytes(CONTENT)
    with serving(folder) as server:
        yield server


@pytest.fixture
def url(server, monkeypatch):
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.001)
    server.reset()
    return f"{server.url}a.bin"


@pytest.mark.parametrize("fault", ["429", "503", "cut", "wrong range", None])
@pytest.mark.parametrize(("start", "stop"), [(0, 10), (500, 6000), (10_000, 20_000), (10_240, 10_250), (7, 7)])
def test_a_range_is_what_the_file_has_there(server, url, fault, start, stop):
    server.fault = lambda number, path: fault if number < 2 and start else None  # at 0 a wrong range is right
    assert storage.read_range(url, start, stop) == CONTENT[start:stop]


def test_of_a_server_without_ranges_no_more_is_read_than_is_needed(server, url, monkeypatch):
    monkeypatch.setattr(server, "ranges", False)
    assert storage.read_range(url, 500, 6000) == CONTENT[500:6000]


@pytest.mark.parametrize("status", ["429", "503"])
def test_a_file_is_not_said_to_be_missing_while_the_server_is_busy(server, url, status):
    server.fault = lambda number, path: status if number < 3 else None
    assert storage.size_of(url) == len(CONTENT)
    server.reset()
    server.fault = lambda number, path: status if number < 3 else None
    assert [file.size for file in storage.expand(url)] == [len(CONTENT)]


def test_a_server_that_is_away_is_not_a_file_that_is_missing(monkeypatch):
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.001)
    with pytest.raises(StorageError, match="cannot be reached"):
        storage.size_of("http://127.0.0.1:9/a.bin")


def test_what_is_not_there_or_not_for_us_is_said_at_once(server, url):
    assert storage.size_of(url + "x") is None
    with pytest.raises(InputError, match=r"a\.binx: no such file"):
        storage.read_range(url + "x", 0, 5)
    server.fault = lambda number, path: "403"
    asked = len(server.requests)
    with pytest.raises(StorageError, match="no access to"):
        storage.read_range(url, 0, 5)
    assert len(server.requests) == asked + 1
