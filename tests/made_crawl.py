"""A small crawl in the layout of Common Crawl's bucket, and a server of it that makes what goes wrong on the web."""

import base64
import gzip
import hashlib
import http.server
import json
import random
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

CRAWL = "CC-MAIN-2026-25"
FOLDER = f"crawl-data/{CRAWL}/segments/1700000000000.1"
WORDS = "the river runs slowly past old stone houses and the people of this town have known it all their lives".split()


def prose(number: int) -> str:
    """Some sentences, others for each number."""
    lines = [
        f"In the year {1000 + 7 * number + turn} {' '.join(WORDS[(number + turn) % 7 :])} and of that they tell us."
        for turn in range(6)
    ]
    return " ".join(lines)


def sha1(payload: bytes) -> str:
    return base64.b32encode(hashlib.sha1(payload).digest()).decode()


def answer(payload: bytes, status: int = 200, content_type: str = "text/html") -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Type: {content_type}\r\n\r\n".encode() + payload


def warc(kind: str, body: bytes, url: str) -> bytes:
    """A record of a WARC file."""
    media = "application/http; msgtype=response" if kind == "response" else "text/plain"
    head = f"WARC-Type: {kind}\r\nWARC-Date: 2026-06-01T00:00:00Z\r\nWARC-Target-URI: {url}\r\nContent-Type: {media}"
    return f"WARC/1.0\r\n{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body + b"\r\n\r\n"


def page(number: int, host: str, noise: int = 0) -> tuple[str, bytes, bytes]:
    """URL, payload and WARC record of a page, with so many bytes that no compression makes fewer than half."""
    url = f"https://{host}/{number}"
    body = f"<!-- {random.Random(number).randbytes(noise // 2).hex()} --><p>{prose(number)}</p>"
    payload = f"<html><head><title>Page {number}</title></head><body>{body}</body></html>".encode()
    return url, payload, warc("response", answer(payload, content_type="text/html; charset=utf-8"), url)


def wat(kind: str, url: str, status: int, mime: str, number: int, place: dict[str, Any]) -> bytes:
    """A record of a WAT file: what is known of a record of a WARC file."""
    header = {"WARC-Type": kind, "WARC-Date": "2026-06-01T00:00:00Z", "WARC-Target-URI": url}
    answer: dict[str, Any] = {"Response-Message": {"Status": str(status)}, "Headers": {"Content-Type": mime}}
    if mime == "text/html":
        image = {"path": "IMG@/src", "url": f"/{number}.png", "alt": f"Picture {number}"}
        links = [image, {"path": "A@/href", "url": f"/{number + 1}", "text": prose(number)[:100]}]
        head = {"Title": f"Page {number}", "Metas": [{"name": "description", "content": f"About page {number}"}]}
        answer["HTML-Metadata"] = {"Head": head, "Links": links}
    about = {"HTTP-Response-Metadata": answer} if kind == "response" else {}
    envelope = {"Format": "WARC", "WARC-Header-Metadata": header, "Payload-Metadata": about}
    record = warc("metadata", json.dumps({"Container": place, "Envelope": envelope}).encode(), url)
    return record.replace(b"Content-Type: text/plain", b"Content-Type: application/json", 1)


def make(folder: Path, files: int = 4, pages: int = 30, noise: int = 0) -> Path:
    """Write a crawl: so many WARC, WET and WAT files of so many pages, and an index of two files by domain.

    Every third page is of example.is, in Icelandic; every fifth is a PDF, every seventh a 404. Of the third file one
    record's digest is another than the index says; one row names a file that is not there, one a place behind the end
    of a file, one a request record.
    """
    rows: list[dict[str, Any]] = []
    names: dict[str, list[str]] = {"warc": [], "wet": [], "wat": []}
    for file in range(files):
        name = f"{FOLDER}/warc/CC-MAIN-20260601000000-{file:05d}.warc.gz"
        names["warc"].append(name)
        parts, texts, known, at = [], [], [], 0
        for number in range(file * pages, (file + 1) * pages):
            host = "www.example.is" if number % 3 == 0 else f"site{number % 11}.example.com"
            url, payload, record = page(number, host, noise)
            mime, status = "text/html", 200
            if number % 5 == 4:
                mime, payload = "application/pdf", b"%PDF-1.7\n" + bytes(range(256))
                record = warc("response", answer(payload, content_type=mime), url)
            elif number % 7 == 6:
                status, payload = 404, b"gone"
                record = warc("response", answer(payload, status=404), url)
            else:
                texts.append(gzip.compress(warc("conversion", prose(number).encode(), url), mtime=0))
            request = gzip.compress(warc("request", b"GET / HTTP/1.1\r\n\r\n", url), mtime=0)
            member = gzip.compress(record, mtime=0)
            parts += [request, member]
            for kind, start, stored in (("request", at, request), ("response", at + len(request), member)):
                place: dict[str, Any] = {"Filename": Path(name).name, "Offset": str(start)}
                place |= {"Gzip-Metadata": {"Deflate-Length": str(len(stored))}}
                known.append(gzip.compress(wat(kind, url, status, mime, number, place), mtime=0))
            digest = sha1(payload)
            if number == 2 * pages + 3:
                digest = sha1(b"something else")
            row: dict[str, Any] = {
                "url": url,
                "url_host_registered_domain": host.split(".", 1)[1],
                "url_host_tld": host[-2:],
            }
            row |= {"content_languages": "isl" if number % 3 == 0 else "eng", "content_mime_detected": mime}
            row |= {"fetch_status": status, "content_digest": digest, "warc_filename": name}
            row |= {"warc_record_offset": at + len(request), "warc_record_length": len(member)}
            rows.append(row)
            at += len(request) + len(member)
        _write(folder / name, b"".join(parts))
        for other, records in (("wet", texts), ("wat", known)):
            path = name.replace("/warc/", f"/{other}/").replace(".warc.gz", f".warc.{other}.gz")
            names[other].append(path)
            _write(folder / path, b"".join(records))
    gone = dict(rows[0], url="https://www.example.is/gone", warc_filename=f"{FOLDER}/warc/CC-MAIN-gone.warc.gz")
    behind = dict(rows[0], url="https://www.example.is/behind", warc_record_offset=at + 10_000_000, warc_filename=name)
    asked = dict(rows[0], url="https://www.example.is/asked", warc_record_offset=0)
    rows += [gone, behind, asked | {"warc_record_length": rows[0]["warc_record_offset"]}]
    rows.sort(key=lambda row: row["url"])
    names["cc-index-table"] = []
    for number, part in enumerate((rows[::2], rows[1::2])):
        name = f"cc-index/table/cc-main/warc/crawl={CRAWL}/subset=warc/part-{number:05d}.c000.gz.parquet"
        names["cc-index-table"].append(name)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        types = {"warc_record_offset": pa.int32(), "warc_record_length": pa.int32(), "fetch_status": pa.int16()}
        columns = {key: pa.array([row[key] for row in part], types.get(key, pa.string())) for key in part[0]}
        pq.write_table(pa.table(columns), folder / name, row_group_size=20, compression="gzip")
    names["cc-index-table"].append(names["cc-index-table"][0].replace("subset=warc", "subset=robotstxt"))
    for kind, listed in names.items():
        _write(
            folder / f"crawl-data/{CRAWL}/{kind}.paths.gz", gzip.compress("".join(f"{n}\n" for n in listed).encode())
        )
    return folder


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


class Server:
    """Serves a folder by ranges. `fault` is given each request's number and path, and may name what goes wrong with it."""

    def __init__(self, folder: Path, handler: "type[FileHandler] | None" = None) -> None:
        self.folder = folder
        self.fault: Callable[[int, str], str | None] = lambda number, path: None
        self.ranges = True  # whether parts are given
        self.requests: list[tuple[float, str, str]] = []  # time, path, range
        self.agents: Counter[str] = Counter()
        self.users: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.busy = self.busiest = 0
        self.lock = threading.Lock()
        handler = type("Handler", (handler or FileHandler,), {"crawl": self})
        self._http = _Listener(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def reset(self) -> None:
        self.fault = lambda number, path: None
        self.requests.clear()
        self.agents.clear()
        self.users.clear()
        self.faults.clear()
        self.busiest = 0

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@contextmanager
def serving(folder: Path, handler: "type[FileHandler] | None" = None) -> Iterator[Server]:
    server = Server(folder, handler)
    try:
        yield server
    finally:
        server.close()


class _Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """Clients that are killed end their connections."""


class FileHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    crawl: Server

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        crawl = self.crawl
        with crawl.lock:
            number = len(crawl.requests)
            crawl.requests.append((time.monotonic(), self.path, self.headers.get("Range", "")))
            crawl.users[self.headers.get("Authorization", "")] += 1
            crawl.agents[self.headers.get("User-Agent", "")] += 1
            crawl.busy += 1
            crawl.busiest = max(crawl.busiest, crawl.busy)
        try:
            fault = crawl.fault(number, self.path)
            crawl.faults[fault or ""] += 1
            self.answer(fault)
        finally:
            with crawl.lock:
                crawl.busy -= 1

    def answer(self, fault):
        path = self.crawl.folder / self.path.lstrip("/").replace("%3D", "=")
        if (fault and fault.isdigit()) or not path.is_file():
            status = int(fault) if fault and fault.isdigit() else 404
            self.send_response(status)
            if status == 429:
                self.send_header("Retry-After", "0.2")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        data = path.read_bytes()
        size, status, start = len(data), 200, 0
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked and self.crawl.ranges:
            start, status = int(asked[1]), 206
            data = data[start : int(asked[2]) + 1]
            if start >= size:
                self.send_response(416)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if fault == "wrong range":
                start, data = 0, path.read_bytes()[: len(data)]
        if fault == "slow":
            time.sleep(0.3)
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{start + len(data) - 1}/{size}")
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault == "cut":
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        else:
            self.wfile.write(data)

    def give(self, value, status=200, fields=()):
        """Answer in JSON."""
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, content in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **dict(fields),
        }.items():
            self.send_header(name, content)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class BucketHandler(FileHandler):
    """The folder as the bucket org/crawl of a hub: of its interface, what says that it is there and what is in a folder."""

    def do_GET(self):
        path, resolved = unquote(self.path.partition("?")[0]), "/buckets/org/crawl/resolve"
        if path.startswith(resolved):
            self.path = path.removeprefix(resolved)
            super().do_GET()
        elif path == "/api/buckets/org/crawl":
            about = {"id": "org/crawl", "private": False, "size": 1, "totalFiles": 1}
            self.give(about | {"createdAt": "2026-06-01T00:00:00.000Z"})
        else:
            folder = self.crawl.folder / path.removeprefix("/api/buckets/org/crawl/tree").strip("/")
            entries = sorted(folder.iterdir()) if folder.is_dir() else []
            self.give([self.entry(each, each.relative_to(self.crawl.folder).as_posix()) for each in entries])

    def entry(self, path, name):
        if path.is_dir():
            return {"type": "directory", "path": name}
        return {"type": "file", "path": name, "size": path.stat().st_size, "xetHash": "0" * 64}
