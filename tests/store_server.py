"""A store in a process of its own, and a proxy before it that makes what goes wrong with object stores.

The server is moto's for S3, and Azurite for Azure; both keep all in memory. Google's stores are spoken to by an interface
that is S3's but for the names of some headers (cloud.google.com/storage/docs/migrating): the proxy translates these, and
moto's server answers. The proxy counts requests and bytes, and makes faults:

    faults.append(Fault(refuse(503, "SlowDown"), match=is_commit, times=3))
"""

import base64
import contextlib
import email.utils
import hashlib
import hmac
import html
import http.client
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

BUCKET = "bucket"
# Published by Microsoft, for every emulator of its stores.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
AZURITE = os.environ.get("AZURITE") or shutil.which("azurite-blob")
START_S = 60.0
CREATE_ONCE = ("if-none-match", "x-goog-if-generation-match")
Match = Callable[["Request"], bool]


@dataclass(frozen=True)
class Request:
    """method, path with query, headers in lower case, body; and when each key was first written through the proxy"""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    written: Mapping[str, float] = field(default_factory=dict)

    @property
    def key(self) -> str:
        path = self.path.partition("?")[0].removeprefix(f"/{ACCOUNT}")
        return urllib.parse.unquote(path.removeprefix(f"/{BUCKET}").lstrip("/"))

    @property
    def query(self) -> dict[str, str]:
        return dict(urllib.parse.parse_qsl(self.path.partition("?")[2], keep_blank_values=True))

    @property
    def kind(self) -> str:
        if self.method == "GET":
            return "get" if self.key else "list"
        if self.method == "PUT":
            if self.headers.keys() & {"x-amz-copy-source", "x-ms-copy-source", "x-goog-copy-source"}:
                return "copy"
            return "part" if "partNumber" in self.query or self.query.get("comp") == "block" else "put"
        if self.method == "POST":
            return "delete" if "delete" in self.query or self.query.get("comp") == "batch" else "put"
        return self.method.lower()


Answer = tuple[int, dict[str, str], bytes]
# Is given the request and what asks the server; None: the connection is closed without an answer.
Action = Callable[[Request, Callable[[Request], Answer]], Answer | None]


@dataclass
class Fault:
    """What happens to requests that match: to the first `times`, of every `every`-th."""

    action: Action
    match: Match = lambda request: True
    times: int = 1 << 60
    every: int = 1
    seen: int = 0
    made: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def takes(self, request: Request) -> bool:
        with self.lock:
            if self.made >= self.times or not self.match(request):
                return False
            self.seen += 1
            if self.seen % self.every:
                return False
            self.made += 1
            return True


def is_conditional(request: Request) -> bool:
    asked = [request.headers.get(name) for name in CREATE_ONCE]
    return request.method == "PUT" and asked in (["*", None], [None, "0"])


def is_commit(request: Request) -> bool:
    return is_conditional(request) and "/commits/" in request.key


def said(status: int, code: str, message: str = "made by a test") -> Answer:
    body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'.encode()
    return status, {"Content-Type": "application/xml"}, body


def refuse(status: int, code: str) -> Action:
    """An error of which nothing came."""
    return lambda request, ask: said(status, code)


def refuse_after(status: int, code: str) -> Action:
    """An error after the server has done what was asked."""

    def action(request: Request, ask: Callable[[Request], Answer]) -> Answer:
        ask(request)
        return said(status, code)

    return action


def lose_answer(request: Request, ask: Callable[[Request], Answer]) -> None:
    """The server does what was asked, and nobody hears of it."""
    ask(request)


def cut(request: Request, ask: Callable[[Request], Answer]) -> None:
    """The connection breaks before the server has all of it."""


def cut_answer(request: Request, ask: Callable[[Request], Answer]) -> Answer:
    """The connection breaks in the middle of the answer, whose length was said."""
    status, headers, body = ask(request)
    return status, headers | {"X-Cut": "1"}, body


def write_first(content: bytes) -> Action:
    """Another writes the same name just before."""

    def action(request: Request, ask: Callable[[Request], Answer]) -> Answer:
        ask(_put(request.path, content))
        return ask(request)

    return action


def _listed(request: Request, body: bytes) -> Iterator[tuple[bytes, float]]:
    """Every file of a listing: its part of the answer, and when it was first written, which is long ago for what this
    proxy has not seen."""
    for found in re.findall(rb"<Contents>.*?</Contents>|<Blob>.*?</Blob>", body, re.DOTALL):
        key = urllib.parse.unquote(html.unescape(re.findall(rb"<(?:Key|Name)>(.*?)</", found)[0].decode()))
        yield found, request.written.get(key, -1e9)


def forget_newest(request: Request, ask: Callable[[Request], Answer]) -> Answer:
    """A listing without the key that was written last."""
    status, headers, body = ask(request)
    if found := list(_listed(request, body)):
        body = body.replace(max(found, key=lambda each: each[1])[0], b"")
        body = re.sub(rb"<KeyCount>\d+", b"<KeyCount>%d" % (len(found) - 1), body)
    return status, headers, body


def behind(seconds: float) -> Action:
    """A listing as it was so long ago, of keys that were written since."""

    def action(request: Request, ask: Callable[[Request], Answer]) -> Answer:
        status, headers, body = ask(request)
        now = time.monotonic()
        for found, written in _listed(request, body):
            if now - written < seconds:
                body = body.replace(found, b"")
        return status, headers, body

    return action


def dated_now(request: Request, ask: Callable[[Request], Answer]) -> Answer:
    """A listing of uploads that have just begun."""
    status, headers, body = ask(request)
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()).encode()
    return status, headers, re.sub(rb"<Initiated>.*?<", b"<Initiated>" + now + b"<", body)


def late(seconds: float) -> Action:
    def action(request: Request, ask: Callable[[Request], Answer]) -> Answer:
        time.sleep(seconds)
        return ask(request)

    return action


def _put(path: str, content: bytes = b"") -> Request:
    """A request to write; signed for Azure, which knows no anonymous writers."""
    headers = {"host": "127.0.0.1", "content-length": str(len(content))}
    if path.startswith(f"/{ACCOUNT}/"):
        about = {"x-ms-blob-type": "BlockBlob", "x-ms-date": email.utils.formatdate(usegmt=True)}
        about["x-ms-version"] = "2023-11-03"
        resource = f"/{ACCOUNT}{path}".replace("?restype=", "\nrestype:")
        lines = [
            "PUT",
            "",
            "",
            str(len(content) or ""),
            *[""] * 8,
            *(f"{name}:{about[name]}" for name in about),
            resource,
        ]
        signature = hmac.digest(base64.b64decode(KEY), "\n".join(lines).encode(), hashlib.sha256)
        headers |= about | {"authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(signature).decode()}"}
    return Request("PUT", path, headers, content)


def to_s3(headers: dict[str, str]) -> dict[str, str]:
    """Headers of a request to Google's store as S3 has them, and of somebody: moto lets nobody else write."""
    named = {name.replace("x-goog-", "x-amz-"): value for name, value in headers.items()}
    named["authorization"] = "AWS4-HMAC-SHA256 Credential=a-key/20260101/us-east-1/s3/aws4_request"
    if named.pop("x-amz-if-generation-match", None) == "0":
        named["if-none-match"] = "*"
    return named


def from_s3(headers: dict[str, str]) -> dict[str, str]:
    return {re.sub("^x-amz-", "x-goog-", name, flags=re.IGNORECASE): value for name, value in headers.items()}


class Proxy:
    """Between a client and a server: `endpoint` is its address, `root` the bucket's, `counts` the requests by kind, `sent`
    and `received` the bytes of bodies as the client sees them."""

    def __init__(self, host: str, port: int, server: int = 0, scheme: str = "s3") -> None:
        self.scheme, self.root = scheme, f"{scheme}://{BUCKET}"
        self.faults: list[Fault] = []
        self.counts: Counter[str] = Counter()
        self.sent = self.received = 0
        self.written: dict[str, float] = {}
        self._upstream = threading.local()
        self._server, self._process = (host, port), server
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._http = _Listener(("127.0.0.1", 0), handler)
        self.endpoint = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def reset(self) -> None:
        self.faults.clear()
        self.counts.clear()
        self.sent = self.received = 0

    def pause(self, seconds: float) -> None:
        """The server stops, and goes on: requests hang meanwhile."""
        os.kill(self._process, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(self._process, signal.SIGCONT)

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, request: Request) -> Answer | None:
        self.counts[request.kind] += 1
        self.sent += len(request.body)
        answer = next((f.action for f in self.faults if f.takes(request)), lambda one, ask: ask(one))(request, self.ask)
        self.received += len(answer[2]) if answer else 0
        if request.kind in ("put", "copy"):
            self.written.setdefault(request.key, time.monotonic())
        return answer

    def ask(self, request: Request) -> Answer:
        if self.scheme != "gs":
            return self._ask(request)
        status, headers, body = self._ask(replace(request, headers=to_s3(request.headers)))
        return status, from_s3(headers), body

    def _ask(self, request: Request) -> Answer:
        for attempt in range(3):
            connection = getattr(self._upstream, "connection", None)
            if connection is None:
                connection = self._upstream.connection = http.client.HTTPConnection(*self._server, timeout=60)
            try:
                kept = {name: value for name, value in request.headers.items() if name not in ("connection", "expect")}
                connection.request(request.method, request.path, request.body, kept)
                answer = connection.getresponse()
                return answer.status, dict(answer.getheaders()), answer.read()
            except (http.client.HTTPException, OSError):
                connection.close()
                self._upstream.connection = None
                if attempt == 2:
                    raise
        raise AssertionError

    def hang_up(self) -> None:
        """Of this thread."""
        if connection := getattr(self._upstream, "connection", None):
            connection.close()


class _Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that are killed end their connections."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    proxy: Proxy

    def _handle(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        answer = self.proxy.answer(Request(self.command, self.path, headers, body, self.proxy.written))
        if answer is None:
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        status, given, content = answer
        is_cut = given.pop("X-Cut", None)
        self.send_response_only(status)
        for name, value in given.items():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        told = {name.lower(): value for name, value in given.items()}.get("content-length", len(content))
        length = told if self.command == "HEAD" else len(content)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[: len(content) // 2] if is_cut else content)
        self.wfile.flush()
        if is_cut:
            self.close_connection = True

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _handle

    def finish(self) -> None:
        super().finish()
        self.proxy.hang_up()

    def log_message(self, *_: Any) -> None:
        pass


def _moto(port: int) -> list[str]:
    return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]


def _azurite(port: int) -> list[str]:
    assert AZURITE, "Azurite is not installed: npm install azurite, and its azurite-blob on PATH or in AZURITE"
    where = ("--blobHost", "127.0.0.1", "--blobPort", str(port))
    return [AZURITE, *where, "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"]


COMMANDS = {"s3": _moto, "gs": _moto, "az": _azurite}


@contextlib.contextmanager
def serving(scheme: str = "s3") -> Iterator[Proxy]:
    """A server with an empty bucket, and the proxy before it."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    with subprocess.Popen(COMMANDS[scheme](port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        proxy = Proxy("127.0.0.1", port, server.pid, scheme)
        try:
            _make_bucket(proxy, scheme)
            yield proxy
        finally:
            proxy.close()
            proxy.hang_up()
            server.kill()


def _make_bucket(proxy: Proxy, scheme: str) -> None:
    end = time.monotonic() + START_S
    path = f"/{ACCOUNT}/{BUCKET}?restype=container" if scheme == "az" else f"/{BUCKET}"
    while True:
        try:
            assert proxy.ask(_put(path))[0] in (200, 201)
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def environment(endpoint: str) -> dict[str, str]:
    """What says to a client where the store is, and who it is."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "an-access-key",
        "AWS_SECRET_ACCESS_KEY": "a-secret-of-the-store",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "GOOGLE_BASE_URL": endpoint,
        "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(
            {"disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        ),
        "AZURE_STORAGE_CONNECTION_STRING": f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={endpoint}/{ACCOUNT};",
        "NO_PROXY": ",".join(filter(None, [os.environ.get("NO_PROXY"), "127.0.0.1"])),
    }
