"""Users, passwords, keys and signatures of input URLs are in the request alone: what is written and said is the same with
others."""

import base64
import http.server
import io
import json
import pickle
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import fsspec
import pyarrow.parquet as pq
import pytest
import zstandard

import corpusmill as package
from corpusmill import storage
from corpusmill.errors import InputError, Problem, RecipeError, StorageError, of_problems
from corpusmill.execute.failures import of_error
from corpusmill.execute.serial import Serial
from corpusmill.recipe import Recipe
from corpusmill.storage.places import address_of

LINES = b'{"text": "The river runs through the valley."}\n{"text": "A cat sat on the mat."}\nno JSON at all\n'
KEYS = ("X-Amz-Signature", "token", "api_key", "Access-Token", "code")


class Server(http.server.BaseHTTPRequestHandler):
    """Serves LINES to whoever comes with a user, a password and a key."""

    def do_GET(self):
        path, _, query = self.path.partition("?")
        asked = dict(urllib.parse.parse_qsl(query))
        user = base64.b64decode((self.headers["Authorization"] or "").removeprefix("Basic ")).decode()
        if path == "/moved.jsonl":
            self.send_response(302)
            self.send_header("Location", "/gone.jsonl?token=REDIRECTED99")
            self.end_headers()
            return
        if (
            path == "/gone.jsonl"
            or not user.startswith("somebody:PASS")
            or not asked.get("token", "").startswith("TOK")
        ):
            self.send_error(403 if path != "/gone.jsonl" else 410)
            return
        first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        body = LINES[int(first) : int(last or len(LINES)) + 1]
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"one"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


class Signed(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """Files of an HTTP server by their whole URL, for where the extra `http` is not installed."""

    protocol = "signed"
    cachable = False

    @classmethod
    def _strip_protocol(cls, path):
        return path

    def unstrip_protocol(self, name):
        return name

    def glob(self, path, **_):
        try:
            return {path: self.info(path)}
        except urllib.error.HTTPError:  # as that of http does
            return {}

    def info(self, path, **_):
        return {"name": path, "type": "file", "size": len(self.cat_file(path)), "ETag": "one"}

    def cat_file(self, path, start=None, end=None, **_):
        user, _, rest = path.removeprefix("signed://").rpartition("@")
        headers = {"Authorization": f"Basic {base64.b64encode(user.encode()).decode()}"}
        try:
            with urllib.request.urlopen(urllib.request.Request(f"http://{rest}", headers=headers), timeout=10) as said:
                return said.read()[start or 0 : end]
        except urllib.error.HTTPError as error:
            error.close()
            raise

    def _open(self, path, mode="rb", **_):
        return io.BytesIO(self.cat_file(path))


fsspec.register_implementation("signed", Signed, clobber=True)


@pytest.fixture(scope="module")
def host():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def secrets_of(version: str) -> dict[str, str]:
    return {"password": f"PASSWORD{version}/+", **{key: f"TOK{number}{version}" for number, key in enumerate(KEYS)}}


def url(host: str, version: str, scheme: str = "signed", path: str = "data/a.jsonl", more: str = "&part=1") -> str:
    secrets = {name: urllib.parse.quote(value, safe="") for name, value in secrets_of(version).items()}
    query = "&".join(f"{key}={secrets[key]}" for key in KEYS)
    password = secrets["password"] if scheme != "signed" else "PASSWORD" + version
    return f"{scheme}://somebody:{password}@{host}/{path}?{query}&X-Amz-Date=2026{version}{more}"


def recipe(folder: Path, address: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "r.yaml").write_text(
        f"name: r\nread:\n  - jsonl: {{paths: '{address}', source: web}}\nsteps: [dedup/exact, tokenize/bytes, "
        "pack/concat: {length: 128}]\nwrite: [jsonl, shards, parquet]\nrun: {error_budget: 1.0, workers: 1}\n"
    )
    return folder / "r.yaml"


def all_bytes(folder: Path) -> dict[str, bytes]:
    """Of the files below a folder, and what is packed in them."""
    found = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            data = file.read_bytes()
            name = file.relative_to(folder).as_posix()
            found[name] = data
            if file.suffix == ".parquet":
                table = pq.read_table(file)
                found[f"{name} unpacked"] = repr([table.to_pylist(), table.schema.metadata]).encode()
            elif data.startswith(b"\x28\xb5\x2f\xfd"):
                found[f"{name} unpacked"] = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read()
    return found


def leaks(texts: dict[str, bytes], *versions: str) -> list[tuple[str, str]]:
    secrets = {"somebody", "REDIRECTED99"}
    for version in versions:
        for value in (*secrets_of(version).values(), f"PASSWORD{version}"):
            secrets |= {value, urllib.parse.quote(value, safe="")}
    return sorted((name, one) for name, data in texts.items() for one in secrets if one.encode() in data)


def same_with_another_signature(corpusmill, host, tmp_path, scheme, *settings):
    said = {}
    for version in ("1111", "2222"):
        path, folder = recipe(tmp_path / version, url(host, version, scheme)), tmp_path / f"run{version}"
        for words in (
            ("run", path, "--folder", folder, *settings),
            ("push", folder, "--card"),
            ("check", path),
            ("check", path, "--json", *settings),
            ("plan", path, *settings),
            ("add", folder, "--list"),
            ("add", folder, "--list", "--json"),
            ("recipe", folder),
            ("explain", folder, "0"),
            ("report", folder),
        ):
            status, out, err = corpusmill(*words)
            said[f"{version} {words}"] = (out + err).encode()
            assert status == 0 or words[0] == "explain", err
    assert leaks(said, "1111", "2222") == []
    runs = [tmp_path / "run1111", tmp_path / "run2222"]
    held = [all_bytes(folder) for folder in runs]
    assert [leaks(of, "1111", "2222") for of in held] == [[], []]
    outputs = [{name: data for name, data in of.items() if name.startswith("output/")} for of in held]
    assert outputs[0] == outputs[1] and len(outputs[0]) > 5
    commits = [sorted(name for name in of if "/commits/" in name or "/plans/" in name) for of in held]
    assert commits[0] == commits[1] and commits[0]
    records = [json.loads((folder / "run.json").read_text()) for folder in runs]
    assert records[0]["fingerprint"] == records[1]["fingerprint"]
    (file,) = records[0]["inputs"]["web"]
    assert file["path"] == f"{scheme}://{host}/data/a.jsonl?part=1" and file["name"] == "a.jsonl?part=1"
    documents = pq.read_table(runs[0] / "output/shards/documents/00000.parquet").to_pylist()
    assert [document["file"] for document in documents] == [file["path"]] * 2

    status, out, err = corpusmill("run", tmp_path / "2222" / "r.yaml", "--folder", runs[0], *settings)
    assert status == 0 and "nothing to do" in err, err
    status, out, err = corpusmill("trace", runs[0], "--row", "0")
    assert leaks({"trace": (out + err).encode()} | all_bytes(runs[0]), "1111", "2222") == []


def test_bytes_and_ids_do_not_depend_on_secrets_which_are_nowhere(corpusmill, host, tmp_path):
    same_with_another_signature(corpusmill, host, tmp_path, "signed", "--set", "run.executor=serial")


def test_workers_ask_with_what_the_recipe_says(corpusmill, host, tmp_path):
    pytest.importorskip("aiohttp")
    same_with_another_signature(corpusmill, host, tmp_path, "http")


def test_a_file_that_is_sent_to_another_process_can_be_asked_for_there(host):
    address = url(host, "3333")
    (file,) = storage.expand(address)
    assert leaks({"file": repr(file).encode()}, "3333") == [] and address_of(file.path) == address
    there = "import pickle, sys; from corpusmill.storage.places import address_of\n"
    there += "print(address_of(pickle.load(sys.stdin.buffer).path))"
    said = subprocess.run([sys.executable, "-c", there], input=pickle.dumps(file), capture_output=True, check=True)
    assert said.stdout.decode().strip() == address


def test_two_inputs_that_differ_in_secrets_alone_are_refused(host, tmp_path, corpusmill):
    one, other = url(host, "1111"), url(host, "2222")
    name = f"signed://{host}/data/a.jsonl\\?part=1: two inputs differ only in what is not written down"
    with pytest.raises(InputError, match=name):
        storage.expand([one, other])
    path = recipe(tmp_path, one)
    path.write_text(path.read_text().replace("read:\n", f"read:\n  - jsonl: {{paths: '{other}', source: more}}\n"))
    status, _, err = corpusmill("run", path, "--folder", tmp_path / "run", "--set", "run.executor=serial")
    assert status == 2 and "two inputs differ only in" in err and leaks({"": err.encode()}, "1111", "2222") == []
    assert len(storage.expand([one, url(host, "1111", more="&part=2")])) == 2


@pytest.mark.parametrize(("path", "key", "said"), [("moved.jsonl", "TOK", "410"), ("data/a.jsonl", "BAD", "403")])
def test_errors_do_not_say_them(corpusmill, host, tmp_path, path, key, said):
    address = url(host, "1111", path=path).replace("TOK11111", f"{key}11111SECRET")
    status, out, err = corpusmill("check", recipe(tmp_path, address), "--json")
    assert status == 2 and said in err
    for text in (out, err):
        assert leaks({"": text.encode()}, "1111") == [] and "11111SECRET" not in text


def test_the_traceback_of_a_library_does_not_say_them(host, capsys):
    from corpusmill.cli.common import show_crash

    storage.expand(url(host, "4444"))
    odd = ValueError(f"cannot parse {url(host, '4444')} nor its TOK14444 by itself")
    ended = of_error(odd)
    show_crash(ValueError, odd, None)
    said = [ended.error, ended.traceback, ended.cause, capsys.readouterr().err]
    said += [
        str(RecipeError(str(odd))),
        str(StorageError(str(odd))),
        of_problems([Problem(str(odd))]).problems[0].message,
    ]
    assert all("cannot parse signed://***@" in one for one in said)
    assert leaks({str(number): one.encode() for number, one in enumerate(said)}, "4444") == []


@pytest.mark.parametrize(
    "place",
    [
        "s3://AKIAKEY:SECRETKEY@bucket/run",
        "az://container/run?sv=2024&sig=SECRETKEY",
        "gs://b/a?X-Goog-Signature=SECRETKEY",
    ],
)
def test_stores_take_no_keys_from_a_url(place):
    with pytest.raises(InputError, match="keys and signatures in a URL are not used") as raised:
        storage.exists(place)
    assert "SECRETKEY" not in str(raised.value) and "AKIAKEY" not in str(raised.value)


def test_what_is_added_to_a_run_is_kept_without_them(host, tmp_path):
    from corpusmill.ops import collection
    from corpusmill.store.run_folder import RunFolder

    (tmp_path / "own.jsonl").write_text('{"text": "A bridge."}\n')
    path = recipe(tmp_path, str(tmp_path / "own.jsonl"))
    done = package.run(path, folder=tmp_path / "run", executor=Serial())
    run = RunFolder(str(done.folder))
    change = collection.added(Recipe.load(path), run, [url(host, "1111")])
    collection.keep(run, change)
    package.run(change.recipe, folder=tmp_path / "run", executor=Serial())
    assert leaks(all_bytes(tmp_path / "run"), "1111") == []
    # With another signature it is the same collection.
    collection.refuse_to_drop(change.recipe, run)
    again = [name.replace("1111", "2222") for name in change.recipe.read[0].paths]
    from dataclasses import replace

    collection.refuse_to_drop(replace(change.recipe, read=[replace(change.recipe.read[0], paths=again)]), run)
    with pytest.raises(InputError, match="does not have what was added"):
        collection.refuse_to_drop(Recipe.load(path), run)
    # The record of the run does not say how to read it.
    with pytest.raises(InputError, match=r"\*\*\* stands for a secret that was not written down"):
        package.check(Recipe.parse(json.loads((done.folder / "run.json").read_text())["recipe"]))


def test_a_variable_in_a_url_is_known_by_its_name(host, tmp_path, monkeypatch):
    names = []
    for value in ("TOKfirstvalue", "TOKothervalue"):
        monkeypatch.setenv("WEB_TOKEN", value)
        address = f"signed://somebody:PASSWORD@{host}/${{WEB_TOKEN}}/a.jsonl?token=${{WEB_TOKEN}}"
        done = package.run(recipe(tmp_path, address), folder=tmp_path / value, executor=Serial())
        record = json.loads((done.folder / "run.json").read_text())
        names.append((record["fingerprint"], record["inputs"]["web"][0]["path"]))
        assert not [name for name, data in all_bytes(done.folder).items() if value.encode() in data]
        assert "?token=${WEB_TOKEN}" in record["recipe"]
    assert names[0] == names[1] and names[0][1] == f"signed://{host}/${{WEB_TOKEN}}/a.jsonl"
