"""Reading from a place that stumbles: what passes is asked again, what does not is said at once, in one line."""

import http.server
import io
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from email.utils import formatdate
from typing import ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from corpusmill import retry, storage
from corpusmill.errors import InputError, StorageError
from corpusmill.storage import others

CONTENT = bytes(range(256)) * 400


class Server(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT by ranges; a path says how it fails at first, and how often: /503/2."""

    asked: ClassVar[Counter[str]] = Counter()
    ranges: ClassVar[list[str]] = []

    def do_GET(self):
        how, _, times = self.path.strip("/").partition("/")
        Server.asked[self.path] += 1
        fails = Server.asked[self.path] <= int(times or 0)
        start, stop = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        Server.ranges.append(f"{start}-{stop}")
        if fails and how.isdigit():
            self.send_response(int(how))
            self.send_header("Retry-After", "0")
            self.end_headers()
            return
        body = CONTENT[start : stop + 1]
        self.send_response(206)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fails and how == "cut" else body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield f"web://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    serving.server_close()


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Nobody waits here."""
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.0)
    Server.asked.clear()
    Server.ranges.clear()


class Web(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """Files of an HTTP server, by ranges, with the errors of urllib as they are."""

    protocol = "web"
    cachable = False

    @classmethod
    def _strip_protocol(cls, path):
        return path.removeprefix("web://")

    def info(self, path, **_):
        return {"name": path, "type": "file", "size": len(CONTENT)}

    def cat_file(self, path, start=None, end=None, **_):
        stop = len(CONTENT) if end is None else min(end, len(CONTENT))
        asked = urllib.request.Request(f"http://{path}", headers={"Range": f"bytes={start or 0}-{stop - 1}"})
        try:
            with urllib.request.urlopen(asked, timeout=10) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            error.close()
            raise

    def _open(self, path, mode="rb", block_size=None, **_):
        return WebFile(self, path, mode, block_size=5000, cache_type="bytes")


class WebFile(fsspec.spec.AbstractBufferedFile):  # type: ignore[misc]
    def _fetch_range(self, start, end):
        return self.fs.cat_file(self.path, start, end)


fsspec.register_implementation("web", Web, clobber=True)


@pytest.mark.parametrize("how", ["500", "502", "503", "429", "408", "cut"])
def test_what_passes_is_asked_again(server, how):
    assert storage.read_bytes(f"{server}/{how}/3") == CONTENT
    assert storage.read_range(f"{server}/{how}/2", 100, 200) == CONTENT[100:200]


@pytest.mark.parametrize(
    ("how", "said"),
    [("404", "cannot be read or written .HTTPError: HTTP Error 404"), ("403", "no access"), ("401", "no access")],
)
def test_what_does_not_pass_is_said_at_once(server, how, said):
    with pytest.raises(StorageError, match=f"{how}/1: {said}") as raised:
        storage.read_bytes(f"{server}/{how}/1")
    assert Server.asked[f"/{how}/1"] == 1 and "\n" not in str(raised.value)


def test_attempts_are_bounded(server):
    with pytest.raises(StorageError, match=r"503/99: cannot be read or written \(HTTPError: HTTP Error 503"):
        storage.read_bytes(f"{server}/503/99")
    assert Server.asked["/503/99"] == retry.ATTEMPTS


def test_a_file_that_breaks_off_is_read_on_from_there(server, monkeypatch):
    monkeypatch.setattr(storage, "BUFFER", 1000)
    with storage.open_read(f"{server}/cut/0", 7) as file:
        assert file.read(20_000) == CONTENT[7:20_007]
        Server.ranges.clear()
        Server.asked["/cut/0"] = -2  # the next two answers are cut
        assert file.read() == CONTENT[20_007:]
    assert not any(asked.startswith("0-") for asked in Server.ranges), "not from the beginning"


class Fragile(io.BytesIO):
    """Gives half of what is left and then an error; never seeks."""

    size = len(CONTENT)

    def __init__(self, breaks):
        super().__init__(CONTENT)
        self._breaks = breaks

    def read(self, count=-1):
        if self._breaks and self.tell() >= len(CONTENT) // 2:
            raise ConnectionResetError("reset by peer")
        return super().read(min(count, 3000))

    def seekable(self):
        return False


class Stream(Web):
    protocol = "stream"
    opened = 0

    @classmethod
    def _strip_protocol(cls, path):
        return path.removeprefix("stream://")

    def _open(self, path, mode="rb", block_size=None, **_):
        Stream.opened += 1
        return Fragile(breaks=Stream.opened <= int(path))


fsspec.register_implementation("stream", Stream, clobber=True)


def test_a_server_without_ranges_is_read_again_up_to_there():
    Stream.opened = 0
    with storage.open_read("stream://3") as file:
        assert file.read() == CONTENT
    assert Stream.opened == 4


def test_a_stream_that_never_goes_on_is_an_error():
    Stream.opened = 0
    with (
        pytest.raises(StorageError, match="ConnectionResetError: reset by peer"),
        storage.open_read("stream://99") as file,
    ):
        file.read()


def test_nobody_there_is_one_line():
    with pytest.raises(StorageError, match=r"cannot be reached \(URLError: .*refused.*Is there a network") as raised:
        storage.read_bytes("web://127.0.0.1:9/x")
    assert "\n" not in str(raised.value)


class Answer(Exception):
    def __init__(self, **said):
        super().__init__("an answer")
        vars(self).update(said)


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (TimeoutError(), True),
        (ConnectionResetError(), True),
        (OSError(104, "Connection reset by peer"), True),
        (Answer(status=503), True),
        (Answer(code=429), True),
        (Answer(response={"ResponseMetadata": {"HTTPStatusCode": 500}}), True),
        (type("ClientPayloadError", (Exception,), {})("cut"), True),
        (Answer(status=403), False),
        (Answer(status=501), False),
        (FileNotFoundError("x"), False),
        (PermissionError(13, "x"), False),
        (ValueError("x"), False),
    ],
)
def test_which_errors_may_pass(error, passes):
    assert retry.may_pass(error) is passes


def test_a_server_may_say_how_long_to_wait():
    assert retry.retry_after(Answer(headers={"Retry-After": "7"})) == 7
    in_a_year = formatdate(time.time() + 3e7, usegmt=True)
    assert retry.retry_after(Answer(headers={"retry-after": in_a_year})) == retry.LONGEST_RETRY_AFTER
    assert retry.retry_after(Answer(headers={"retry-after": "soon"})) == retry.retry_after(ValueError()) == 0


def test_a_file_is_created_once_though_the_answer_was_lost(monkeypatch):
    class Forgetful(MemoryFileSystem):  # type: ignore[misc]
        protocol = "forgetful"
        lost = 1

        @classmethod
        def _strip_protocol(cls, path):
            return super()._strip_protocol(path.replace("forgetful://", "memory://"))

        def pipe_file(self, path, value, mode="overwrite", **_):
            super().pipe_file(path, value, mode=mode)
            if Forgetful.lost:
                Forgetful.lost -= 1
                raise TimeoutError

    fsspec.register_implementation("forgetful", Forgetful, clobber=True)
    monkeypatch.setattr(others, "CREATES_ONCE", others.CREATES_ONCE | {"forgetful"})
    assert storage.create_once("forgetful://a/lost", b"mine")
    assert not storage.create_once("forgetful://a/lost", b"mine")
    with pytest.raises(InputError, match="no such file"):
        storage.read_bytes("forgetful://a/none")
