"""Archives whose headers state a wrong length: one lie costs one record."""

import bz2
import gzip
import random
from itertools import accumulate, pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reading import arc, briefly, http, page, read_all, save, warc

from corpusmill.read import END, FilePiece
from corpusmill.read import _archive as archive
from corpusmill.read._archive import Record, records
from corpusmill.read._bytes import MAX_RESTARTS
from corpusmill.read.warc import WarcReader

HOWS = ["", "whole", "bz2", "twice"]
LENGTH = "99999999999"


def stored(data: bytes, how: str) -> bytes:
    if how == "twice":
        return gzip.compress(gzip.compress(data))
    return gzip.compress(data) if how == "whole" else bz2.compress(data) if how == "bz2" else data


def lying(text: str, length: str = LENGTH) -> bytes:
    return warc("response", http(f"<html>{text}</html>".encode()), f"http://made.org/{text}", length=length)


def texts(items) -> list[bytes | str]:
    return [item.body.rpartition(b"\r\n")[2] if isinstance(item, Record) else item.kind for item in items]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("length", [LENGTH, "9" * 5000, "100000", "1200"])
def test_a_lie_costs_its_own_record_and_no_other(tmp_path, how, length):
    made = [page(f"page {i} " + "x" * 300) for i in range(21)]
    made[1] = lying("a lie", length)
    file = save(tmp_path, "a.warc", stored(b"".join(made), how))
    for target in (1 << 40, 1000):
        rows, dead, counts = read_all(WarcReader(), file, target=target)
        assert len(rows) == 20 and counts.records == 21
        assert [letter["kind"] for letter in dead] == ["truncated" if len(length) < 20 else "damaged"]
        assert len(length) > 20 or "another record begins after 65" in dead[0]["reason"]


@pytest.mark.parametrize("how", HOWS)
def test_an_arc_file_lies_as_well(tmp_path, how):
    made = [arc(f"http://made.org/{i}", http(b"<html>x</html>")) for i in range(9)]
    head, _, rest = made[2].partition(b"\n")
    made[2] = head.rpartition(b" ")[0] + b" 99999999999\n" + rest
    rows, dead, _ = read_all(WarcReader(), save(tmp_path, "a.arc", stored(b"".join(made), how)))
    assert len(rows) == 8 and [letter["kind"] for letter in dead] == ["truncated"]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("limit", [100, 1 << 20])
def test_a_body_that_holds_records_is_one_record_as_long_as_its_length_is_right(tmp_path, how, limit):
    inner = b"".join(page(f"inner {i}") for i in range(5)) + lying("within")
    outer = [
        page("before"),
        warc("response", inner),
        page("after"),
        warc("resource", page("last"), "http://made.org/l"),
    ]
    file = save(tmp_path, "a.warc", stored(b"".join(outer), how))
    items = list(records(FilePiece(file), limit))
    assert [type(item) for item in items] == [Record] * 4
    assert [len(item.body) for item in items if isinstance(item, Record)] == [
        min(limit, len(record.partition(b"\r\n\r\n")[2]) - 4) for record in outer
    ]


@pytest.mark.parametrize("how", HOWS)
def test_a_long_body_that_junk_follows_is_one_record(tmp_path, how):
    data = page("x" * 3000) + b"junk\r\n" + page("after")
    long, junk, after = records(FilePiece(save(tmp_path, "a.warc", stored(data, how))), 100)
    assert isinstance(long, Record) and len(long.body) == 100 and long.length > 3000
    assert not isinstance(junk, Record) and junk.kind == "damaged"
    assert isinstance(after, Record)


@pytest.mark.parametrize("how", ["whole", "bz2"])
def test_a_stream_that_cannot_be_sought_is_read_again_a_few_times_only(tmp_path, how):
    made = [page("begin")]
    for i in range(MAX_RESTARTS + 2):  # the claims end inside another record, so that only reading on shows the lie
        made += [lying(f"lie {i}", "2500000"), page(f"a{i} " + "x" * 1_500_000), page(f"b{i} " + "x" * 1_500_000)]
    items = list(records(FilePiece(save(tmp_path, "a.warc", stored(b"".join(made), how))), 200))
    lost = [item.reason for item in items if not isinstance(item, Record)]
    assert sum("another record begins" in reason for reason in lost) == MAX_RESTARTS
    assert sum("too many lengths are wrong" in reason for reason in lost) == 2
    read = [item for item in items if isinstance(item, Record)]
    assert len(read) == 1 + 2 * MAX_RESTARTS


SIZES = st.lists(
    st.tuples(st.integers(0, 1500), st.sampled_from([0, 0, 7, 500, 4000, 10**11])), min_size=1, max_size=20
)


@pytest.mark.parametrize("how", ["", "whole", "bz2"])
@settings(max_examples=25)
@given(sizes=SIZES, limit=st.sampled_from([300, 1 << 20]), target=st.integers(300, 4000), seed=st.integers(0, 99))
def test_every_record_that_tells_the_truth_is_read(tmp_path_factory, how, sizes, limit, target, seed):
    noise = random.Random(seed)
    made = []
    for i, (size, lie) in enumerate(sizes):
        body = http(f"{i} ".encode() + bytes(noise.choices(b"abcdefgh \n", k=size)))
        made.append(warc("response", body, **({"length": str(len(body) + lie)} if lie else {})))
    # A wrong length that ends where a record does looks like that of a record which holds the others.
    edges = [0, *accumulate(map(len, made))]
    ends = [
        start + record.index(b"\r\n\r\n") + 4 + len(record.partition(b"\r\n\r\n")[2]) - 4 + lie
        for start, record, (_, lie) in zip(edges, made, sizes)
        if lie
    ]
    assume(not any(edge - 4 <= end <= edge for end in ends for edge in edges))
    file = save(tmp_path_factory.mktemp("w"), "a.warc", stored(b"".join(made), how))
    items = list(records(FilePiece(file), limit))
    honest = [
        record.partition(b"\r\n\r\n")[2][:-4][:limit] for record, (_, lie) in zip(made, sizes, strict=True) if not lie
    ]
    given_out = [item.body for item in items if isinstance(item, Record) and item.length == len(item.body)]
    if how == "" or limit > 300:
        read = [item.body for item in items if isinstance(item, Record)]
        assert [body for body in honest if body in read] == honest
        assert len(items) == len(made) or any(lie == 7 for _, lie in sizes)
    assert all(body in honest for body in given_out if len(body) < limit) or any(lie for _, lie in sizes[-1:])
    offsets = [item.offset for item in items]
    assert offsets == sorted(set(offsets))
    count = -(-file.size // target)
    cuts = [file.size * i // count for i in range(count)] + [END]
    pieces = [FilePiece(file, a, b) for a, b in pairwise(cuts)]
    assert [item for piece in pieces for item in records(piece, limit)] == items


def test_headers_without_an_end_are_searched_once(tmp_path, monkeypatch):
    searched = []

    class Counting:
        def search(self, data, begin, stop):
            searched.append(min(stop, len(data)) - begin)
            return archive_head_end.search(data, begin, stop)

    archive_head_end = archive.HEAD_END
    monkeypatch.setattr(archive, "HEAD_END", Counting())
    data = b"WARC/1.0\r\nA:\r\n" * 20_000
    _, dead, _ = read_all(WarcReader(), save(tmp_path, "a.warc", data))
    assert len(dead) == 20_000 and sum(searched) < 4 * len(data)


def test_a_folded_header_is_read_in_linear_time(tmp_path):
    folded = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 0\r\nA: b\r\n" + b" c\r\n" * 15_000 + b"\r\n\r\n\r\n"
    for item in records(FilePiece(save(tmp_path, "a.warc", folded * 3)), 100):
        assert isinstance(item, Record) and len(item.fields["a"]) == 30_001


def test_many_lies_are_read_in_linear_time(tmp_path):
    data = b"".join(lying(str(i), str(14_000_000 + i % 7)) for i in range(20_000)) + bytes(100) + b"x" * 15_000_000
    _, dead, _ = read_all(WarcReader(), save(tmp_path, "a.warc", data))
    assert len(dead) >= 20_000 and briefly(dead)[0] == (0, "truncated", False)
