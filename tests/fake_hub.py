"""What of the Hugging Face Hub `huggingface_hub` asks when it pushes a data set, on this machine: repositories in memory.

It answers as the Hub documents it: whoami, create a repository or a branch, list a tree, preupload, the batch of LFS,
an upload, a commit in lines of JSON, and a download of what was committed.
"""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_made"


@dataclass
class FakeHub:
    """What it holds, and what it was asked.

    files     (repository, branch) -> path -> content
    objects   SHA-256 -> content, of LFS
    private   repository -> whether it was made so
    asked     "METHOD path", in order
    commits   paths that each commit added, in order
    refuse    a status to answer with instead, from the moment at which so many commits are done
    """

    files: dict[tuple[str, str], dict[str, bytes]] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    private: dict[str, bool] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    commits: list[list[str]] = field(default_factory=list)
    refuse: tuple[int, int] | None = None
    address: str = ""

    @property
    def sent(self) -> list[str]:
        """The objects that were uploaded."""
        return [line.rpartition("/")[2] for line in self.asked if line.startswith("PUT ")]

    def answer(self, method: str, path: str, body: bytes, token: str) -> tuple[int, Any]:
        """The status and what is answered: JSON, or bytes."""
        if self.refuse and len(self.commits) >= self.refuse[0]:
            return self.refuse[1], {"error": "refused"}
        if path.startswith("/objects/"):
            self.objects[path.rpartition("/")[2]] = body
            return 200, {}
        if token != f"Bearer {TOKEN}":
            return 401, {"error": "Invalid user token."}
        if path == "/api/whoami-v2":
            return 200, {"name": "me", "type": "user", "orgs": [], "auth": {"accessToken": {"role": "write"}}}
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if path.endswith("/info/lfs/objects/batch"):
            return 200, {"transfer": "basic", "objects": [self._object(one) for one in json.loads(body)["objects"]]}
        repo, _, rest = path.removeprefix("/api").removeprefix("/datasets/").partition("/")
        name, _, rest = rest.partition("/")
        verb, _, rest = rest.partition("/")
        return self._of_repo(f"{repo}/{name}", verb, rest, body)

    def _create(self, asked: dict[str, Any]) -> tuple[int, Any]:
        name = f"{asked.get('organization') or 'me'}/{asked['name']}"
        if not name.startswith("me/"):
            return 403, {"error": "You don't have the rights to create a dataset under this namespace"}
        url = {"url": f"{self.address}/datasets/{name}"}
        if (name, "main") in self.files:
            return 409, url
        self.files[name, "main"] = {".gitattributes": b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"}
        self.private[name] = bool(asked.get("private")) or asked.get("visibility") == "private"
        return 200, url

    def _object(self, one: dict[str, Any]) -> dict[str, Any]:
        if one["oid"] in self.objects:
            return one
        return one | {"actions": {"upload": {"href": f"{self.address}/objects/{one['oid']}"}}}

    def _of_repo(self, name: str, verb: str, rest: str, body: bytes) -> tuple[int, Any]:
        first, _, path = rest.partition("/")
        branch = unquote(first)
        if verb == "branch":
            if (name, branch) in self.files:
                return 409, {"error": "exists"}
            self.files[name, branch] = dict(self.files[name, "main"])
            return 200, {}
        files = self.files.get((name, branch))
        if files is None:
            return 404, {"error": "no such revision"}
        if verb == "tree":
            return 200, [_entry(path, data) for path, data in files.items()]
        if verb == "preupload":
            modes = [
                {"path": one["path"], "uploadMode": "lfs" if _is_lfs(one["path"]) else "regular", "shouldIgnore": False}
                for one in json.loads(body)["files"]
            ]
            return 200, {"files": modes}
        if verb == "commit":
            return 200, self._commit(name, files, [json.loads(line) for line in body.splitlines()])
        return (200, files[unquote(path)]) if verb == "resolve" and unquote(path) in files else (404, {})

    def _commit(self, name: str, files: dict[str, bytes], lines: list[dict[str, Any]]) -> dict[str, Any]:
        added = []
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
                added.append(value["path"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.objects[value["oid"]]
                added.append(value["path"])
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        self.commits.append(added)
        oid = _id(len(self.commits))
        return {"commitUrl": f"{self.address}/datasets/{name}/commit/{oid}", "commitOid": oid}


def _is_lfs(path: str) -> bool:
    return path.endswith(".parquet")


def _id(number: int) -> str:
    return hashlib.sha1(str(number).encode()).hexdigest()


def _entry(path: str, data: bytes) -> dict[str, Any]:
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    entry: dict[str, Any] = {"type": "file", "path": path, "size": len(data), "oid": blob}
    if _is_lfs(path):
        entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 128}
    return entry


@contextmanager
def serving() -> Iterator[FakeHub]:
    """A Hub that answers at its address."""
    hub = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = urlsplit(self.path).path
            hub.asked.append(f"{self.command} {path}")
            method = "GET" if self.command == "HEAD" else self.command
            status, said = hub.answer(method, path, body, self.headers.get("Authorization", ""))
            content = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("X-Repo-Commit", _id(len(hub.commits)))
            self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_HEAD = do_POST = do_PUT = _answer

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.address = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
