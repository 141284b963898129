"""Shards hold every token of every document once, whatever the cuts; damage is found and named."""

import io
import json
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill import shards
from corpusmill.errors import ShardError
from corpusmill.models.tokenizer import load
from corpusmill.shards import pack as pack_module
from corpusmill.shards.layout import ShardEntry
from corpusmill.shards.pack import UnitTokens, pack
from corpusmill.shards.plan import plan_shards
from corpusmill.shards.writer import TokenizerFacts, make_index, write_documents, write_folder, write_shard
from corpusmill.tokens.packing import Report, best_fit_rows, concat

EOS = 50_256


def unit(first, lengths):
    """Documents first, first + 1, … of these lengths: every token says which it is."""
    values = [(7 * (first + d) + i) % 50_000 for d, n in enumerate(lengths) for i in range(n)]
    ids = np.array(values, np.uint16)
    ids[np.cumsum(lengths, dtype=int) - 1] = EOS
    return UnitTokens(ids, np.array(lengths, np.int64))


def cut(lengths, cuts):
    """The same documents in units that end at these cuts."""
    edges = sorted({0, len(lengths), *(c for c in cuts if c <= len(lengths))})
    return [unit(a, lengths[a:b]) for a, b in pairwise(edges)]


def planned(units, method="concat", row=4, per_shard=8, remainder="keep"):
    return plan_shards([u.lengths for u in units], method, row, per_shard, remainder)


def written(units, **settings):
    """The bytes and the entry of each shard."""
    out = []
    for shard in planned(units, **settings).shards:
        tokens, spans = io.BytesIO(), io.BytesIO()
        entry = write_shard(pack(shard, units, EOS), tokens, spans)
        out.append((tokens.getvalue(), spans.getvalue(), entry))
    return out


LENGTHS = st.lists(st.integers(1, 25), max_size=25)
CUTS = st.lists(st.integers(0, 25), max_size=5)
METHODS = st.sampled_from(["concat", "best_fit", "one_per_row"])


@settings(max_examples=120, deadline=None)
@given(LENGTHS, CUTS, st.integers(1, 9), st.integers(1, 40), st.sampled_from(["keep", "pad", "drop"]))
@example([1, 6, 1], [2], 4, 20, "drop")  # a unit that holds nothing but dropped tokens
def test_concat_holds_every_token_once_and_in_order(lengths, cuts, row, per_shard, remainder):
    units = cut(lengths, cuts)
    files = written(units, row=row, per_shard=per_shard, remainder=remainder)
    stream = np.concatenate([np.empty(0, np.uint16), *(u.ids for u in units)])
    got = np.concatenate([np.empty(0, np.uint16), *(np.frombuffer(tokens, np.uint16) for tokens, _, _ in files)])
    held = len(stream) // row * row if remainder == "drop" else len(stream)
    assert got[:held].tolist() == stream[:held].tolist()
    assert len(got) == (-(-held // row) * row if remainder == "pad" else held)
    assert all(entry.tokens % row == 0 for _, _, entry in files[:-1])


@settings(max_examples=120, deadline=None)
@given(LENGTHS, CUTS, METHODS, st.integers(1, 9), st.integers(1, 40), st.sampled_from(["keep", "pad", "drop"]))
def test_shards_do_not_depend_on_how_documents_were_dealt_to_units(lengths, cuts, method, row, per_shard, remainder):
    settings = {"method": method, "row": row, "per_shard": per_shard, "remainder": remainder}
    assert written(cut(lengths, cuts), **settings) == written(cut(lengths, []), **settings)


@settings(max_examples=60, deadline=None)
@given(LENGTHS, CUTS, METHODS, st.integers(1, 9), st.integers(1, 40), st.sampled_from(["keep", "pad", "drop"]))
def test_what_is_written_verifies_and_every_token_names_its_document(
    tmp_path_factory, lengths, cuts, method, row, per_shard, remainder
):
    units = cut(lengths, cuts)
    plan = planned(units, method, row, per_shard, remainder)
    folder = tmp_path_factory.mktemp("shards")
    write_folder(folder, plan, units, load("gpt2"))
    read = shards.open(folder)
    assert read.verify() == []
    seen = {}
    for token, value in enumerate(read.tokens(0, len(read)).tolist()):
        place = read.document_at(token)
        if place is None:
            assert value == EOS
            continue
        last = place.offset == lengths[place.document] - 1
        assert value == (EOS if last else (7 * place.document + place.offset) % 50_000)
        assert (place.document, place.offset) not in seen
        seen[place.document, place.offset] = place
        assert place.row == token // row
    assert len(seen) == sum(lengths) - plan.discarded_tokens
    assert len({document for document, _ in seen}) == len(lengths) - plan.discarded_documents


@settings(max_examples=60, deadline=None)
@given(LENGTHS, st.integers(1, 9), st.integers(1, 40), st.sampled_from(["keep", "pad", "drop"]))
def test_reports_of_shards_add_up_to_the_report_of_the_stream(lengths, row, per_shard, remainder):
    units = cut(lengths, [])
    plan = planned(units, "concat", row, per_shard, remainder)
    parts = [pack(shard, units, EOS).report for shard in plan.shards]
    whole = concat(np.array(lengths, np.int64), row, remainder).report
    assert sum(parts, Report(discarded_tokens=0 if parts else plan.discarded_tokens)) == whole


def test_best_fit_in_one_shard_is_best_fit_of_all_documents():
    lengths = [3, 9, 1, 4, 4, 2, 8, 1]
    units = cut(lengths, [3])
    (shard,) = planned(units, "best_fit", 4, 1000).shards
    packed = pack(shard, units, EOS)
    layout = best_fit_rows(np.array(lengths), 4)
    real = packed.spans.document >= 0
    assert packed.spans.start[real].tolist() == layout.start.tolist()
    assert packed.spans.document[real].tolist() == layout.document.tolist()
    assert packed.report == layout.report


@pytest.mark.parametrize("method", ["concat", "best_fit"])
@pytest.mark.parametrize(("long", "chunk"), [(1 << 16, 1 << 21), (1, 8), (6, 8), (10, 1 << 21), (6, 3)])
def test_chunks_and_stretches_of_any_size_are_the_same_tokens(monkeypatch, method, long, chunk):
    monkeypatch.setattr(pack_module, "LONG_STRETCH", long)
    monkeypatch.setattr(pack_module, "CHUNK_TOKENS", chunk)
    units = cut([5, 17, 2, 30, 1], [2])
    packed = pack(planned(units, method, 4, 1000).shards[0], units, EOS)
    whole = np.concatenate(list(packed.chunks(rows=1000)))
    assert np.concatenate(list(packed.chunks(rows=1))).tolist() == whole.tolist()
    assert np.concatenate(list(packed.stretches())).tolist() == whole.tolist()


def test_a_document_of_no_tokens_cannot_be_planned():
    with pytest.raises(ValueError, match="unit 1: every document has 1 token or more"):
        plan_shards([np.array([2]), np.array([3, 0])], "concat", 4)


def test_units_that_changed_after_the_plan_are_refused():
    units = cut([5, 4, 9], [])
    (shard,) = planned(units, per_shard=100).shards
    with pytest.raises(ShardError, match="planned for 18 tokens of 3 documents, its units hold 9 of 2"):
        pack(shard, cut([5, 4], []), EOS)


LINES = [6, 11, 3, 20, 2, 9, 14]


@pytest.fixture
def folder(tmp_path):
    """Seven documents in shards of two rows of eight, with tables of documents."""
    units = cut(LINES, [3])
    plan = planned(units, "concat", 8, 16)
    (tmp_path / "documents").mkdir()
    entries = []
    for shard in plan.shards:
        packed = pack(shard, units, EOS)
        name = f"{shard.number:05d}"
        with (tmp_path / f"{name}.bin").open("wb") as tokens, (tmp_path / f"{name}.idx").open("wb") as spans:
            entry = write_shard(packed, tokens, spans)
        numbers = range(shard.first_document, shard.first_document + shard.documents)
        rows = {
            "id": [f"id{n}" for n in numbers],
            "source": ["made"] * len(numbers),
            "file": ["made.jsonl"] * len(numbers),
            "position": list(numbers),
            "url": [None] * len(numbers),
        }
        batch = pa.RecordBatch.from_pydict(rows).cast(
            pa.schema([(n, pa.int64() if n == "position" else pa.string()) for n in rows])
        )
        table = write_documents([batch], shard.first_document, packed.lengths, tmp_path / f"documents/{name}.parquet")
        entries.append(ShardEntry(**{**entry.__dict__, "table_xxh3_128": table}))
    index = make_index(
        plan.cuts, plan.documents, plan.tokens, TokenizerFacts.from_tokenizer(load("gpt2")), EOS, reversed(entries)
    )
    (tmp_path / "index.json").write_bytes(index.to_bytes())
    return tmp_path


def test_a_shard_is_what_nanogpt_maps(folder):
    stream = np.concatenate([unit(d, [n]).ids for d, n in enumerate(LINES)])
    data = np.memmap(folder / "00001.bin", np.uint16, "r")
    assert data.tolist() == stream[16:32].tolist()


def test_tokens_and_rows_cross_shards(folder):
    read = shards.open(folder)
    stream = np.concatenate([unit(d, [n]).ids for d, n in enumerate(LINES)])
    assert len(read) == sum(LINES)
    assert read.tokens(10, 40).tolist() == stream[10:40].tolist()
    assert np.concatenate(list(read.rows(7))).tolist() == stream.tolist()
    assert [len(row) for row in read.rows()] == [8] * 8 + [1]
    assert read.tokens(5, 5).tolist() == []
    with pytest.raises(ShardError, match="tokens 60 to 66 are out of range; there are 65"):
        read.tokens(60, 66)


def test_a_token_leads_to_the_page_that_it_came_from(folder):
    read = shards.open(folder)
    place = read.document_at(17 + 3 + 2)  # the third token of the fourth document, in the second shard
    assert (place.document, place.offset, place.shard, place.row) == (3, 2, 1, 2)
    assert read.provenance(place.document) == {
        "document": 3,
        "id": "id3",
        "source": "made",
        "file": "made.jsonl",
        "position": 3,
        "url": None,
        "tokens": 20,
    }
    with pytest.raises(ShardError, match="no document 7; the shards hold 0 to 6"):
        read.provenance(7)


def test_a_good_folder_verifies(folder):
    assert shards.open(folder).verify() == []
    assert shards.open(folder / "index.json").verify() == []


def test_a_cut_shard_does_not_open(folder):
    path = folder / "00001.bin"
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(ShardError, match=r"00001\.bin: has 30 bytes, the index says 32 .* copy it again"):
        shards.open(folder)


def test_a_missing_shard_does_not_open(folder):
    (folder / "00002.bin").unlink()
    with pytest.raises(ShardError, match=r"00002\.bin: No such file .* The index lists it"):
        shards.open(folder)


def test_a_folder_without_index_does_not_open(tmp_path):
    with pytest.raises(ShardError, match=r"has an index\.json, written last: did the run finish"):
        shards.open(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, r"has format 2; this is corpusmill .*, which reads up to 1"),
        ({"format": "other"}, "not an index of shards"),
        ({"dtype": "int8"}, 'dtype is "int8"'),
        ({"eos_id": None, "shards": [{"number": 0}]}, "an entry is missing or unknown"),
    ],
)
def test_an_index_that_does_not_fit_is_refused(folder, change, message):
    path = folder / "index.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ShardError, match=message):
        shards.open(folder)


@pytest.mark.parametrize(
    ("name", "at"), [("00001.bin", 3), ("00000.idx", 60), ("00000.idx", 2), ("documents/00003.parquet", 50)]
)
def test_one_changed_byte_is_found_and_its_file_named(folder, name, at):
    path = folder / name
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    problems = shards.open(folder).verify()
    assert problems
    assert all(str(path) in problem for problem in problems)


@pytest.mark.parametrize("name", ["00000.idx", "00003.bin", "documents/00000.parquet"])
def test_damage_is_noticed_where_it_would_be_used(folder, name):
    """Spans and tables when they are first used, tokens when asked for."""
    path = folder / name
    data = bytearray(path.read_bytes())
    data[-9] ^= 4
    path.write_bytes(data)
    use = {
        "00000.idx": lambda: shards.open(folder).document_at(0),
        "00003.bin": lambda: shards.open(folder, verify=True),
        "documents/00000.parquet": lambda: shards.open(folder).provenance(0),
    }[name]
    with pytest.raises(ShardError, match=rf"{name}: XXH3-128 is .* it was changed or damaged"):
        use()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"eos_id": "7"}, "eos_id must be a whole number that is not negative, is 7"),
        ({"pad_id": -1}, "pad_id must be a whole number"),
        ({"vocabulary": 70_000}, "a vocabulary of 70000 uint16 cannot have the control tokens"),
        ({"sequence_length": 5}, "shard 0 has 16 tokens in 2 rows of 5"),
        ({"packing": "best"}, 'packing is "best", with rows of 8 tokens'),
        ({"name": "{:0999999999d}"}, "cannot be the name of files"),
        ({"name": 7}, "cannot be the name of files"),
        ({"shards": {"number": 1}}, "the shards are not numbered 0, 1"),
        ({"shards": {"tokens": True}}, r"shards\[0\]\.tokens must be a whole number"),
        ({"shards": {"tokens": 1 << 70}}, r"shards\[0\]\.tokens must be a whole number"),
        ({"shards": {"spans_xxh3_128": None}}, "spans_xxh3_128 must be text"),
        ({"shards": {"cut_documents": 0}}, "cut_documents, the totals say"),
        ({"shards": {"documents": 10**11}}, "shard 0 of 16 tokens cannot hold 100000000000 documents"),
    ],
)
def test_an_index_that_contradicts_itself_is_refused(folder, change, message):
    path = folder / "index.json"
    index = json.loads(path.read_text())
    first = index["shards"][0] | change.get("shards", {})
    path.write_text(json.dumps(index | change | {"shards": [first, *index["shards"][1:]]}))
    with pytest.raises(ShardError, match=message):
        shards.open(folder)


def test_an_index_of_brackets_is_damaged(folder):
    (folder / "index.json").write_text("[" * 100_000)
    with pytest.raises(ShardError, match=r"not JSON .* the file is damaged"):
        shards.open(folder)


def rewrite(folder, tokens=None, runs=None):
    """Change the first shard as if it had been written so: checksums are made to fit."""

    index = json.loads((folder / "index.json").read_text())
    for name, key, change in (("00000.bin", "tokens_xxh3_128", tokens), ("00000.idx", "spans_xxh3_128", runs)):
        data = (folder / name).read_bytes()
        if change:
            array = np.frombuffer(data, np.uint16 if key == "tokens_xxh3_128" else np.int64).copy()
            change(array)
            data = array.tobytes()
            (folder / name).write_bytes(data)
        index["shards"][0][key] = xxhash.xxh3_128_hexdigest(data)
    (folder / "index.json").write_text(json.dumps(index))


def put(at, value):
    def change(array):
        array[at] = value

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"tokens": put(9, 60_000)}, "token 9 is 60000, and the vocabulary has 50257"),
        ({"tokens": put(2, EOS)}, "1 end-of-document tokens are inside documents"),
        (
            {"tokens": put(5, 1)},
            "document 0 up to token 6 without its end-of-document token is followed by token 0 of document 1",
        ),
        ({"runs": put(4 + 2 + 1, 2)}, "document 0 up to token 6 is followed by token 0 of document 2"),
        ({"runs": put(4 + 4, 3)}, "begins with token 3 of document 0, expected token 0 of document 0"),
        ({"runs": put(2, 5)}, "covers 5 tokens, its shard has 16: they are from different runs"),
        ({"runs": put(4, 1)}, "the spans do not cover the shard"),
        ({"runs": put(4 + 2, -1)}, "the spans mark tokens 0 to 6 as padding"),
    ],
)
def test_shards_that_were_written_wrong_do_not_verify(folder, change, problem):
    rewrite(folder, **change)
    assert any(problem in sentence for sentence in shards.open(folder).verify())


def test_a_lost_shard_is_missed_even_if_the_index_does_not_name_it(folder):
    path = folder / "index.json"
    index = json.loads(path.read_text())
    del index["shards"][-1]
    path.write_text(json.dumps(index))
    with pytest.raises(ShardError, match=r"index\.json: the shards have 64 tokens, the totals say 65"):
        shards.open(folder)
    del index["totals"]
    path.write_text(json.dumps(index))
    assert any("the index says" in problem for problem in shards.open(folder).verify())


def test_the_index_wants_every_planned_shard():
    units = cut(LINES, [])
    plan = planned(units, "concat", 8, 16)
    with pytest.raises(ShardError, match=r"shards of 65 tokens were planned, and .* 0 were written"):
        make_index(plan.cuts, plan.documents, plan.tokens, TokenizerFacts.from_tokenizer(load("gpt2")), EOS, [])


def test_a_table_wants_every_document(tmp_path):
    with pytest.raises(ShardError, match="3 documents were packed, and the table was given 0"):
        write_documents([], 0, np.array([1, 2, 3]), tmp_path / "t.parquet")


def test_reading_needs_numpy_only():
    code = "import corpusmill.shards, sys; print(sorted({'pyarrow', 'numba', 'tokenizers'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@settings(max_examples=80, deadline=None)
@given(LENGTHS, CUTS, METHODS, st.integers(1, 9), st.integers(1, 40), st.sets(st.integers(1, 24)))
def test_shards_cut_at_breaks_do_not_depend_on_how_documents_were_dealt_to_units(
    lengths, cuts, method, row, per_shard, places
):
    def files(units):
        written = []
        units = [
            u._replace(
                breaks=np.array(
                    [
                        s + p
                        for s, n in zip(np.cumsum(u.lengths) - u.lengths, u.lengths)
                        for p in sorted(places)
                        if p < n
                    ],
                    np.int64,
                )
            )
            for u in units
        ]
        plan = plan_shards([u.lengths for u in units], method, row, per_shard, "pad", "sentence")
        for shard in plan.shards:
            tokens, spans = io.BytesIO(), io.BytesIO()
            entry = write_shard(pack(shard, units, EOS), tokens, spans)
            written.append((tokens.getvalue(), spans.getvalue(), entry))
        return written

    whole = files(cut(lengths, []))
    assert files(cut(lengths, cuts)) == whole
    assert sum(entry.tokens - entry.padding for _, _, entry in whole) == sum(lengths)


def test_a_shard_that_is_to_be_cut_at_breaks_needs_them():
    units = cut([5, 9], [])
    plan = plan_shards([u.lengths for u in units], "concat", 4, 100, "pad", "sentence")
    with pytest.raises(ShardError, match="where its documents can be cut was not written"):
        pack(plan.shards[0], units, EOS)
