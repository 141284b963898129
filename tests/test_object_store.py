"""Object stores, against a real server: what is created once, whatever goes wrong; and what is said of it."""

import json
import os
import re
import subprocess
import sys
import threading
from datetime import timedelta

import pytest

import corpusmill
from corpusmill import retry, storage
from corpusmill.errors import InputError, StorageError
from corpusmill.execute.serial import Serial
from corpusmill.recipe import Recipe
from corpusmill.storage import objects, stores

moto = pytest.importorskip("moto", reason="moto's server is not installed")
pytest.importorskip("obstore")

import store_server as faults  # noqa: E402
from store_server import Fault, is_conditional, refuse, refuse_after  # noqa: E402

RECIPE = """
name: store
read: {{jsonl: {{paths: "{place}/raw/*.jsonl"}}}}
steps:
  - dedup/exact
  - tokenize/bpe: {{tokenizer: gpt2}}
  - pack/concat: {{length: 32}}
write: [jsonl, shards]
"""
OTHER = b'{"attempt": "of another"}'
only_s3 = pytest.mark.parametrize("store_server", ["s3"], indirect=True)


@pytest.fixture
def store(store_server, monkeypatch):
    """The proxy before the server, without faults; nobody waits long."""
    for name, value in faults.environment(store_server.endpoint).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(stores, "FIRST", timedelta(milliseconds=5))
    store_server.reset()
    return store_server


@pytest.fixture
def place(request, store_server):
    name = re.sub(r"\W+", "-", request.node.name)  # what is in brackets would be a pattern
    return f"{store_server.root}/{name}"


@pytest.mark.parametrize(
    ("action", "times", "won"),
    [
        (faults.write_first(OTHER), 1, False),
        (refuse(409, "ConditionalRequestConflict"), 1, True),
        (refuse(409, "ConditionalRequestConflict"), 5, True),
        (refuse_after(409, "ConditionalRequestConflict"), 1, True),
        (refuse(412, "PreconditionFailed"), 2, True),  # of a store that was wrong
        (faults.lose_answer, 1, True),
        (faults.cut, 2, True),
        (refuse(503, "SlowDown"), 6, True),
        (refuse_after(500, "InternalError"), 1, True),
        (refuse(400, "RequestTimeout"), 2, True),
    ],
)
def test_created_once_whatever_the_store_answers(store, place, action, times, won):
    store.faults.append(Fault(action, is_conditional, times))
    assert storage.create_once(f"{place}/commits/1.json", b'{"attempt": "mine"}') is won
    assert store.faults[0].made == times
    assert storage.read_bytes(f"{place}/commits/1.json") == (b'{"attempt": "mine"}' if won else OTHER)
    assert not storage.create_once(f"{place}/commits/1.json", b'{"attempt": "mine"}')


def test_one_of_many_creates(store, place):
    store.faults += [Fault(faults.lose_answer, is_conditional, every=2), Fault(refuse(503, "SlowDown"), every=5)]
    won = []

    def create(number):
        if storage.create_once(f"{place}/x", b"the same of all"):
            won.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


def test_what_cannot_be_created_is_an_error_and_not_a_verdict(store, place):
    store.faults.append(Fault(refuse(409, "ConditionalRequestConflict"), is_conditional))
    with pytest.raises(StorageError, match=r"x: cannot be read or written \(HTTP 409: ConditionalRequestConflict"):
        storage.create_once(f"{place}/x", b"mine")
    store.faults.clear()
    assert not storage.exists(f"{place}/x")
    assert storage.create_once(f"{place}/x", b"mine")


def test_a_bucket_behaves_as_a_disk_does(store, place, tmp_path):
    assert storage.list_dir(place) == []
    for name in ("commits/1.json", "data/a b#%ü*.bin", "data/deep/c.bin", "data/_SUCCESS", "data/.hidden"):
        storage.write_atomic(f"{place}/{name}", name.encode())
    assert storage.list_dir(place) == ["commits", "data"]
    assert storage.list_sizes(f"{place}/data") == {"a b#%ü*.bin": 17, "_SUCCESS": 13, ".hidden": 12}
    assert storage.exists(f"{place}/data/deep/c.bin") and not storage.exists(f"{place}/data/deep/d.bin")
    assert [info.name for info in storage.expand(place)] == ["commits/1.json", "data/a b#%ü*.bin", "data/deep/c.bin"]
    assert [info.name for info in storage.expand(f"{place}/*/1.*")] == ["commits/1.json"]
    assert [info.name for info in storage.expand(f"{place}/da*/**/*.bin")] == ["data/a b#%ü*.bin", "data/deep/c.bin"]
    found = storage.stat(f"{place}/data/deep/c.bin")
    assert (found.name, found.size, found.fingerprint[:5]) == ("c.bin", 15, "etag:")
    with pytest.raises(InputError, match=r'no such file; did you mean "c\.bin"'):
        storage.expand(f"{place}/data/deep/c.bim")
    assert storage.list_tree(f"{place}/data").keys() == {"a b#%ü*.bin", "deep/c.bin", "_SUCCESS", ".hidden"}
    storage.copy(f"{place}/data/deep/c.bin", f"{place}/copy")
    storage.move(f"{place}/copy", f"{place}/moved")
    assert storage.read_bytes(f"{place}/moved") == b"data/deep/c.bin" and not storage.exists(f"{place}/copy")
    with pytest.raises(InputError, match="copy: no such file"), storage.open_read(f"{place}/copy"):
        pass
    storage.download(f"{place}/moved", tmp_path / "here")
    assert (tmp_path / "here").read_bytes() == b"data/deep/c.bin"
    with pytest.raises(RuntimeError), storage.open_write(f"{place}/half") as file:
        file.write(b"half")
        raise RuntimeError
    with storage.open_write(f"{place}/empty"):
        pass
    storage.download(f"{place}/empty", tmp_path / "empty")
    assert (tmp_path / "empty").read_bytes() == storage.read_bytes(f"{place}/empty") == b""
    assert storage.list_dir(place) == ["commits", "data", "empty", "moved"]
    storage.remove(f"{place}/nothing")
    storage.remove_tree(place)
    assert storage.list_dir(place) == []


@pytest.fixture
def small_parts(monkeypatch):
    """The smallest that S3 takes."""
    monkeypatch.setattr(objects, "MAX_SINGLE_PUT", 5 << 20)
    monkeypatch.setattr(objects, "PART_BYTES", 5 << 20)


def test_large_files_are_sent_in_parts_and_read_in_ranges(store, place, tmp_path, small_parts):
    content = os.urandom(1 << 20) * 17
    (tmp_path / "large").write_bytes(content)
    store.faults += [
        Fault(refuse(503, "SlowDown"), lambda request: request.kind == "part", 2),
        Fault(faults.cut_answer, lambda request: request.kind == "get", 2),
    ]
    storage.upload(tmp_path / "large", f"{place}/large")
    assert store.counts["part"] >= 3
    storage.download(f"{place}/large", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == content
    assert storage.read_range(f"{place}/large", 5, 16 << 20) == content[5 : 16 << 20]
    assert storage.read_range(f"{place}/large", len(content) - 3, len(content) + 9) == content[-3:]
    assert storage.read_range(f"{place}/large", len(content) + 3, len(content) + 9) == b""
    store.faults.append(Fault(faults.cut, lambda request: request.kind == "get", every=3))
    with storage.open_read(f"{place}/large", 100) as file:
        assert file.read(10) == content[100:110]
        assert file.seek(-100, os.SEEK_END) == len(content) - 100 and file.read() == content[-100:]
        file.seek(1000)
        assert file.read() == content[1000:]


@only_s3
def test_an_upload_that_ends_half_way_is_never_seen_and_its_parts_are_removed(store, place, tmp_path, small_parts):
    (tmp_path / "large").write_bytes(bytes(6 << 20))
    store.faults.append(Fault(faults.cut, lambda request: request.kind in ("part", "delete")))
    with pytest.raises(StorageError, match="large: "):
        storage.upload(tmp_path / "large", f"{place}/large")
    store.faults.clear()
    assert storage.list_dir(place) == [] and not storage.exists(f"{place}/large")
    assert len(uploads(store)) > 0
    # moto calls them all made in 2010
    store.faults.append(Fault(faults.dated_now, lambda request: "uploads" in request.query, times=1))
    storage.remove_unfinished(place)
    assert len(uploads(store)) > 0, "somebody may be at work on what is not a day old"
    storage.remove_unfinished(place, older_s=0)
    assert uploads(store) == []


def uploads(store):
    import boto3

    return boto3.client("s3", endpoint_url=store.endpoint).list_multipart_uploads(Bucket="bucket").get("Uploads", [])


@only_s3
@pytest.mark.parametrize(
    ("path", "fault", "said"),
    [
        ("s3://no-bucket/x", None, "s3://no-bucket/x: there is no bucket s3://no-bucket. Make it first"),
        ("s3:///x", None, "there is no bucket in it, as in s3://BUCKET/folder"),
        ("s3://bucket/a//b", None, "contained empty path segment"),
        (
            "s3://bucket/x",
            (403, "InvalidAccessKeyId"),
            r"no access to the S3 endpoint \(HTTP 403: (InvalidAccessKeyId|Forbidden)",
        ),
        ("s3://bucket/x", (403, "AccessDenied"), "Are the credentials those of this place.* Set AWS_PROFILE"),
        (
            "s3://bucket/x",
            (503, "SlowDown"),
            "cannot be read or written .HTTP 503: (SlowDown: made by a test|Service Unavailable)",
        ),
        ("az://container/x", None, "AZURE_STORAGE_ACCOUNT_NAME"),
    ],
)
@pytest.mark.parametrize(
    "what", [storage.read_bytes, storage.list_dir, storage.expand, lambda path: storage.create_once(path, b"x")]
)
def test_what_is_wrong_is_one_line(store, monkeypatch, what, path, fault, said):
    for name in [name for name in os.environ if name.startswith("AZURE_")]:
        monkeypatch.delenv(name)
    store.faults += [Fault(refuse(*fault))] if fault else []
    with pytest.raises((StorageError, InputError), match=said) as raised:
        what(path)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 400


@only_s3
def test_nobody_there_is_one_line(store, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StorageError, match=r"the S3 endpoint cannot be reached .* Is there a network"):
        storage.read_bytes("s3://bucket/x")


@only_s3
def test_who_we_are_is_read_as_others_read_it(store, place, monkeypatch, tmp_path):
    storage.write_atomic(f"{place}/x", b"1")
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    with pytest.raises(InputError, match=r"x: no credentials were found\. Set AWS_PROFILE.*CORPUSMILL_PUBLIC_BUCKETS"):
        storage.read_bytes(f"{place}/x")
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.endpoint)
    monkeypatch.setenv("CORPUSMILL_PUBLIC_BUCKETS", "commoncrawl, bucket")
    seen = []

    def notes(request, ask):
        seen.append(request.headers.get("authorization"))
        return ask(request)

    store.faults.append(Fault(notes))
    with pytest.raises(StorageError, match=r"no access to the S3 endpoint .HTTP 403"):  # the bucket is private
        storage.read_bytes(f"{place}/x")
    assert seen.pop() is None
    monkeypatch.delenv("CORPUSMILL_PUBLIC_BUCKETS")
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    (tmp_path / "credentials").write_text("[mine]\naws_access_key_id = of-my-profile\naws_secret_access_key = s3cr3t\n")
    (tmp_path / "config").write_text(f"[profile mine]\nregion = eu-north-1\nendpoint_url = {store.endpoint}\n")
    monkeypatch.setenv("AWS_PROFILE", "mine")
    assert storage.read_bytes(f"{place}/x") == b"1" and "of-my-profile" in seen[-1] and "eu-north-1" in seen[-1]
    monkeypatch.setenv("AWS_PROFILE", "myne")
    with pytest.raises(InputError, match=r"x: The config profile \(myne\) could not be found\. Set AWS_PROFILE"):
        storage.read_bytes(f"{place}/x")


@pytest.mark.skipif(os.name == "nt", reason="Windows forks nothing")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_says_that_it_cannot(store, place):
    storage.write_atomic(f"{place}/x", b"1")
    child = os.fork()
    if not child:
        try:
            storage.read_bytes(f"{place}/x")
        except StorageError as error:
            os._exit(7 if "was forked" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert storage.read_bytes(f"{place}/x") == b"1"


def test_requests_are_counted(store, place):
    code = (
        "from corpusmill import storage; import json, sys; p = sys.argv[1]; storage.create_once(p + '/a', b'1');"
        "storage.read_bytes(p + '/a'); storage.list_dir(p); storage.copy(p + '/a', p + '/b'); storage.remove(p + '/b');"
        "print(json.dumps(storage.requests()))"
    )
    counted = json.loads(subprocess.check_output([sys.executable, "-c", code, place]))
    assert counted == dict(store.counts) == {"put": 1, "get": 1, "list": 1, "copy": 1, "delete": 1}


def test_a_run_through_every_fault_writes_the_same_bytes(store, place, tmp_path, monkeypatch):
    """`make store` has a run for each of them."""
    monkeypatch.setenv("CORPUSMILL_NODE_CACHE", str(tmp_path / "cache"))
    for name in ("one", "two"):
        rows = ({"text": f"The {name} text of number {i % 7} is {'long and ' * (i % 5)} plain."} for i in range(40))
        storage.write_atomic(f"{place}/raw/{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
    recipe = Recipe.parse(RECIPE.format(place=place))
    here = corpusmill.run(recipe, folder=tmp_path / "run", executor=Serial())
    conditional, written = is_conditional, lambda request: request.kind in ("put", "copy")
    store.faults += [
        Fault(refuse(409, "ConditionalRequestConflict"), conditional, every=3),
        Fault(faults.lose_answer, conditional, every=4),
        Fault(refuse_after(500, "InternalError"), written, every=7),
        Fault(refuse(503, "SlowDown"), every=11),
        Fault(faults.behind(0.2), lambda request: request.kind == "list"),
        Fault(faults.cut_answer, lambda request: request.kind == "get", every=5),
    ]
    there = corpusmill.run(recipe, folder=f"{place}/run", executor=Serial())
    assert all(fault.made for fault in store.faults)
    store.faults.clear()
    assert there.waterfall == here.waterfall
    files = {path.relative_to(tmp_path / "run").as_posix(): path for path in (tmp_path / "run/output").rglob("*")}
    found = {f"output/{name}": f"{place}/run/output/{name}" for name in storage.list_tree(f"{place}/run/output")}
    assert found.keys() == {name for name, path in files.items() if path.is_file()}
    assert all(storage.read_bytes(path) == files[name].read_bytes() for name, path in found.items())
    secret = os.environ["AWS_SECRET_ACCESS_KEY"].encode()
    for name in storage.list_tree(f"{place}/run"):
        assert secret not in storage.read_bytes(f"{place}/run/{name}"), name
