"""A place that stops giving access: whatever a reader reads then ends the run, and is not taken for a damaged file."""

import bz2
import gzip
import io
import random
import tarfile
from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pytest
import zstandard
from reading import packed, read_all, warc
from test_every_reader import NEEDED, SAMPLES, archive, arrow, parquet

from corpusmill import read, retry
from corpusmill.errors import InputError, StorageError
from corpusmill.storage import expand
from made_crawl import serving


def tar(**files: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        for name, data in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            file.addfile(about, io.BytesIO(data))
    return out.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstandard.compress, ".bz2": bz2.compress}
LONG = pa.table({"text": [f"row {number} {'x' * (number % 90)}" for number in range(3000)]})
LARGE = {
    "parquet": ("a.parquet", parquet(LONG)),
    "arrow": ("a.arrow", arrow(LONG)),
    "warc": (
        "a.warc.gz",
        packed([warc("request", bytes(range(256)) * 40), *[warc("response", b"<p>")] * 3] * 60, "gz"),
    ),
}
LARGE |= {
    "code": ("a.tar", tar(**{f"r/{number}.py": f"x = {number}\n# {'é' * 9000}\n".encode() for number in range(40)})),
    "docx": (
        "a.docx",
        archive(**{"word__document.xml": b"<w:document/>", "big": bytes(random.Random(1).randbytes(300_000))}),
    ),
}
CASES = [(name, file, data) for name, (file, data, _) in SAMPLES.items()]
CASES += [
    (name, SAMPLES[name][0] + ending, pack(SAMPLES[name][1]))
    for name in ("jsonl", "csv", "text", "wet", "wat")
    for ending, pack in PACKED.items()
]
CASES += [(name, *LARGE[name]) for name in LARGE]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.001)


@pytest.mark.parametrize(
    ("name", "file", "data"), CASES, ids=[f"{name}-{file}-{len(data)}" for name, file, data in CASES]
)
def test_a_server_that_refuses_after_some_requests_ends_the_run(tmp_path, name, file, data):
    (tmp_path / file).write_bytes(data)
    reader = read.find(name)(**NEEDED.get(name, {}))
    with serving(tmp_path) as server:
        (there,) = expand(server.url + file)
        whole = read_all(reader, there, target=20_000)
        needed = len(server.requests)
        for refused_from in range(needed):
            server.reset()
            refused = range(refused_from, needed * 2)
            server.fault = partial(lambda numbers, number, path: "403" if number in numbers else None, refused)
            try:
                assert read_all(reader, there, target=20_000) == whole, refused_from
            except (StorageError, InputError) as error:
                assert "403" in str(error)
