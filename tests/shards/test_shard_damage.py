"""Every byte that is lost, changed or foreign is found and named, by what is read first and by `verify`."""

import json
import shutil

import numpy as np
import pytest

from corpusmill.errors import ShardError
from corpusmill.loader import TokenLoader
from corpusmill.models.tokenizer import load
from corpusmill.shards import open_shards
from corpusmill.shards.foreign import check_belongs
from corpusmill.shards.layout import DocumentSpans, ShardIndex, stored
from corpusmill.shards.pack import UnitTokens
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.writer import write_folder

LENGTHS = [5, 1, 14, 3, 9, 2, 40, 6]


def write(folder, lengths=LENGTHS, first=0, per_shard=24, method="concat"):
    tokenizer = load("gpt2")
    ids = (first + np.arange(sum(lengths))).astype(np.uint16)
    ids[np.cumsum(lengths) - 1] = tokenizer.eos_id
    units = [UnitTokens(ids, np.array(lengths, np.int64))]
    write_folder(folder, plan_shards([units[0].lengths], method, 4, per_shard), units, tokenizer)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write(tmp_path_factory.mktemp("shards"))


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "shards")


def problem(folder, action=lambda shards: shards.check()):
    with pytest.raises(ShardError) as error:
        action(open_shards(folder))
    return str(error.value)


def test_whole_shards_have_no_problems(folder):
    shards = open_shards(folder, verify=True)
    check_belongs(shards)
    assert shards.verify() == [] and len(shards.index.shards) == 4


@pytest.mark.parametrize("name", ["00000.bin", "00003.bin"])
@pytest.mark.parametrize("size", [0, 1, 7, 1000])
def test_a_file_of_tokens_of_another_size(folder, name, size):
    data = (folder / name).read_bytes()
    (folder / name).write_bytes((data * 100)[:size])
    assert f"{name}: has {size} bytes, the index says {len(data)}" in problem(folder)


def test_a_file_of_tokens_of_the_right_size_that_was_changed(folder):
    data = bytearray((folder / "00001.bin").read_bytes())
    data[10] ^= 1
    (folder / "00001.bin").write_bytes(data)
    open_shards(folder)  # ids are taken as they are
    assert "00001.bin: XXH3-128 is" in problem(folder)
    assert any("00001.bin" in line for line in open_shards(folder).verify())
    with pytest.raises(ShardError, match="it was changed or damaged"):
        open_shards(folder, verify=True)


@pytest.mark.parametrize("name", ["00000.bin", "00002.idx"])
def test_a_missing_file(folder, name):
    (folder / name).unlink()
    assert f"{name}: No such file or directory" in problem(folder, lambda shards: shards.check_there())
    assert open_shards(folder).verify() if name.endswith("idx") else True


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", "begins with b''"),
        (lambda data: data[:20], "not b'CMSPANS1'"),
        (lambda data: b"PARQUET1" + data[8:], "begins with b'PARQUET1'"),
        (lambda data: data[:-8], "the file is truncated"),
        (lambda data: data + b"x", "the file is truncated"),
        (lambda data: data[:16] + (999).to_bytes(8, "little") + data[24:], "covers 999 tokens, its shard has 24"),
        (lambda data: data[:8] + (-1).to_bytes(8, "little", signed=True) + data[16:], "its header says 8"),
        (lambda data: data[:40] + b"\x01" + data[41:], "it was changed or damaged"),
    ],
)
def test_damaged_spans_are_found_when_they_are_first_used(folder, change, message):
    path = folder / "00000.idx"
    path.write_bytes(change(path.read_bytes()))
    shards = open_shards(folder)
    with pytest.raises(ShardError) as error:
        shards.document_at(0)
    assert "00000.idx" in str(error.value) and message in str(error.value)


def change_index(folder, **values):
    path = folder / "index.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"format": "other"}, '"format" is not "corpusmill-shards"'),
        ({"version": 2}, "has format 2; this is corpusmill"),
        ({"dtype": "float32"}, 'dtype is "float32", must be "uint16" or "uint32"'),
        ({"vocabulary": -1}, "vocabulary must be a whole number that is not negative, is -1"),
        ({"vocabulary": 1 << 20}, "a vocabulary of 1048576 uint16 cannot have the control tokens"),
        ({"eos_id": "x"}, "eos_id must be a whole number that is not negative, is x"),
        ({"eos": None}, "eos must be text, is None"),
        ({"packing": "zip"}, 'packing is "zip", with rows of 4 tokens'),
        ({"packing": "none"}, 'packing is "none", with rows of 4 tokens'),
        ({"sequence_length": 5}, "tokens in 6 rows of 5"),
        ({"sequence_length": 0}, "rows of 0"),
        ({"name": "../{:05d}"}, '"../{:05d}" cannot be the name of files'),
        ({"name": 3}, "cannot be the name of files"),
        ({"shards": [{}]}, "an entry is missing or unknown"),
        ({"shards": 3}, "an entry is missing or unknown"),
        ({"loss": {"k": 1}}, "an entry is missing or unknown"),
        ({"loss": 3}, "an entry is missing or unknown"),
        ({"totals": {"tokens": 1}}, "the shards have 80 tokens, the totals say 1"),
    ],
)
def test_an_index_that_contradicts_itself(folder, values, message):
    change_index(folder, **values)
    with pytest.raises(ShardError) as error:
        open_shards(folder)
    assert str(folder / "index.json") in str(error.value) and message in str(error.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b"null"])
def test_a_file_that_is_no_index(folder, content):
    (folder / "index.json").write_bytes(content)
    with pytest.raises(ShardError, match=r"index\.json: not"):
        ShardIndex.read(folder / "index.json")


def test_entries_that_are_not_numbered_in_order(folder):
    record = json.loads((folder / "index.json").read_text())
    change_index(folder, shards=record["shards"][::-1])
    with pytest.raises(ShardError, match="the shards are not numbered 0, 1"):
        open_shards(folder)


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(ShardError, match=r"No such file or directory. A folder of shards has an index.json"):
        open_shards(tmp_path)
    (tmp_path / "run.json").touch()
    with pytest.raises(ShardError, match="this run has no training shards"):
        open_shards(tmp_path)


def test_a_shard_of_another_folder_is_told_by_its_documents(folder, tmp_path):
    other = write(tmp_path / "other", [7, 3, 14, 9, 9, 2, 30, 6], first=500)
    shutil.copy(other / "00000.bin", folder / "00000.bin")
    message = problem(folder, check_belongs)
    assert "should end a document, and is" in message and "the file is of other shards, or damaged" in message


def test_files_that_the_index_does_not_list_are_named(folder):
    (folder / "00004.bin").touch()
    assert "00004.bin: index.json does not list it: it is of other shards" in problem(folder, check_belongs)
    (folder / "00004.bin").unlink()
    (folder / "notes.txt").touch()
    check_belongs(open_shards(folder))


def test_a_loader_finds_what_is_missing_before_its_second_batch(folder):
    loader = TokenLoader(folder, batch_size=1, shuffle=False)
    (folder / "00003.idx").unlink()
    batches = iter(loader)
    next(batches)
    with pytest.raises(ShardError, match=r"00003.idx"):
        next(batches)


@pytest.mark.parametrize(
    ("lengths", "per_shard", "method"),
    [
        ([100], 8, "concat"),  # a document longer than several shards
        ([1] * 30, 8, "concat"),
        ([30, 1, 30], 8, "best_fit"),
        ([3], 1000, "one_per_row"),
        ([4, 4, 4], 4, "concat"),
    ],
)
def test_documents_at_the_borders_of_shards(tmp_path, lengths, per_shard, method):
    shards = open_shards(write(tmp_path / "s", lengths, per_shard=per_shard, method=method), verify=True)
    assert shards.verify() == []
    seen = [shards.document_at(token) for token in range(len(shards))]
    offsets = sorted((origin.document, origin.offset) for origin in seen if origin)
    assert offsets == [(number, i) for number, length in enumerate(lengths) for i in range(length)]


def test_a_stream_without_documents_has_no_shards(tmp_path):
    tokenizer = load("gpt2")
    plan = plan_shards([np.empty(0, np.int64)], "concat", 4, 8)
    index = write_folder(tmp_path / "s", plan, [UnitTokens(np.empty(0, np.uint16), np.empty(0, np.int64))], tokenizer)
    shards = open_shards(tmp_path / "s", verify=True)
    assert (len(shards), index.documents, shards.verify()) == (0, 0, [])
    with pytest.raises(ShardError, match="there are no rows: the shards hold no tokens"):
        TokenLoader(tmp_path / "s")


def test_a_document_without_a_token_is_refused():
    with pytest.raises(ValueError, match="unit 0: every document has 1 token or more, its EOS; got 0"):
        plan_shards([np.array([3, 0], np.int64)], "concat", 4, 8)


def test_ranges_outside_the_shards_are_refused(folder):
    shards = open_shards(folder)
    for start, stop in ((-1, 3), (3, 2), (0, len(shards) + 1)):
        with pytest.raises(ShardError, match=f"tokens {start} to {stop} are out of range; there are 80"):
            shards.tokens(start, stop)
    assert len(shards.tokens(80, 80)) == 0 and len(shards.spans(7, 7).start) == 0


def test_origins_without_tables_are_unknown(folder):
    shards = open_shards(folder)
    with pytest.raises(ShardError, match="written without tables of documents"):
        shards.provenance(0)
    with pytest.raises(ShardError, match="written without tables of documents"):
        shards.numbers_of(["x"])
    assert not shards.has_tables


def test_spans_are_the_same_after_they_were_written(tmp_path):
    spans = DocumentSpans(*(np.array(column, np.int64) for column in ([0, 3, 5], [7, -1, 8], [2, 0, 0])))
    path = tmp_path / "x.idx"
    path.write_bytes(spans.to_bytes(9))
    assert [column.tolist() for column in DocumentSpans.map(path, 9)] == [column.tolist() for column in spans]
    with pytest.raises(ShardError, match="they are from different runs"):
        DocumentSpans.map(path, 10)
    assert stored("uint16").str == "<u2"
