"""A cache of the Hugging Face hub in a folder, and a hub of our own that answers on this machine."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from made_crawl import FileHandler

TOKEN = "hf_made"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def write_cache(
    cache: Path, repo: str, files: Mapping[str, bytes], kind: str = "model", revision: str = "main"
) -> Path:
    """The files of a repository as huggingface_hub keeps them; returns the folder of the snapshot."""
    commit = hashlib.sha1(f"{repo} {revision}".encode()).hexdigest()
    folder = cache / f"{kind}s--{repo.replace('/', '--')}"
    reference = folder / "refs" / revision
    reference.parent.mkdir(parents=True, exist_ok=True)
    reference.write_text(commit)
    for name, data in files.items():
        blob = folder / "blobs" / hashlib.sha256(data).hexdigest()
        blob.parent.mkdir(exist_ok=True)
        blob.write_bytes(data)
        path = folder / "snapshots" / commit / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(blob)
    return folder / "snapshots" / commit


@contextmanager
def serving(files: Mapping[str, bytes], gated: bool = False) -> Iterator[tuple[str, list[str]]]:
    """The address of a hub whose every repository has these files, and the paths that it was asked for."""
    asked: list[str] = []

    class Hub(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            asked.append(self.path)
            name = self.path.partition("/resolve/")[2].partition("/")[2]
            if gated or name not in files:
                self.send_response(403 if gated else 404)
                self.send_header("X-Error-Code", "GatedRepo" if gated else "EntryNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hashlib.sha1(files[name]).hexdigest()}"')
            self.send_header("Content-Length", str(len(files[name])))
            self.end_headers()

        def do_GET(self) -> None:
            if not self.path.startswith("/api/"):
                self.do_HEAD()
                self.wfile.write(files[self.path.partition("/resolve/")[2].partition("/")[2]])
                return
            asked.append(self.path)
            siblings = [{"rfilename": name, "size": len(data), "blobId": "b"} for name, data in files.items()]
            body = json.dumps({"id": "org/name", "sha": COMMIT, "siblings": siblings}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


class DatasetHandler(FileHandler):
    """A folder as the data set org/name of a hub, with a folder below it for each commit, and the server's faults.

    revisions   branch or tag -> commit
    private     whether only TOKEN may read
    """

    revisions: ClassVar[dict[str, str]] = {"main": "a" * 40, "v1": "b" * 40}
    private: ClassVar[bool] = False

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        sent = self.headers.get("Authorization")
        if (self.private and not sent) or sent not in (None, f"Bearer {TOKEN}"):
            why = "Invalid credentials in Authorization header" if sent else "Invalid username or password."
            # Without a token, the hub does not tell a private repository from none.
            self.give(
                {"error": why}, 401, {"X-Error-Message": why} | ({} if sent else {"X-Error-Code": "RepoNotFound"})
            )
        elif path.startswith(resolved := "/datasets/org/name/resolve/"):
            revision, _, name = path.removeprefix(resolved).partition("/")
            commit = self.revisions.get(revision, revision)
            self.path = f"/{commit}/{name}"
            super().do_GET()
        elif not path.startswith("/api/datasets/org/name"):
            self.give({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
        else:
            self._answer_about(path.removeprefix("/api/datasets/org/name").strip("/"))

    do_POST = do_GET

    def _answer_about(self, question: str) -> None:
        verb, _, rest = question.partition("/")
        revision, _, path = rest.partition("/")
        commit = self.revisions.get(revision or "main", revision)
        if commit not in self.revisions.values():
            self.give({"error": "Invalid rev id"}, 404, {"X-Error-Code": "RevisionNotFound"})
            return
        files = [file for file in sorted((self.crawl.folder / commit).rglob("*")) if file.is_file()]
        entries = [self._entry(file, file.relative_to(self.crawl.folder / commit).as_posix()) for file in files]
        if verb in ("", "revision"):
            siblings = [{"rfilename": e["path"], "size": e["size"], "blobId": e["oid"]} for e in entries]
            self.give({"id": "org/name", "sha": commit, "private": self.private, "siblings": siblings})
        elif verb == "tree":
            self.give([entry for entry in entries if entry["path"].startswith(path)])
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = parse_qs(body.decode())["paths"] if not body.startswith(b"{") else json.loads(body)["paths"]
            self.give([entry for entry in entries if entry["path"] in asked])

    def _entry(self, file: Path, name: str) -> dict[str, Any]:
        data = file.read_bytes()
        return {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
