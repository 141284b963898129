"""Documents with signals in files beside them: joined record by record, and never with the wrong ones."""

import gzip
import json
import os
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from reading import read_all, read_piece

from corpusmill.errors import InputError, RecipeError
from corpusmill.read.dolma import DolmaReader
from corpusmill.read.redpajama import RedpajamaReader

PACK = {"gz": lambda data: gzip.compress(data, mtime=0), "zst": zstandard.compress, "": bytes}


def put(root, name, rows):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    path.write_bytes(PACK[name.rpartition(".")[2] if name.endswith(("gz", "zst")) else ""](data))
    return path


def documents(*texts):
    return [{"id": f"d{n}", "text": text, "source": "made", "metadata": {"n": n}} for n, text in enumerate(texts)]


def said(tagger, *values):
    return [{"id": f"d{n}", "attributes": {f"{tagger}__x": [[0, 3, value]]}} for n, value in enumerate(values)]


@pytest.fixture
def wiki(tmp_path):
    root = tmp_path / "wiki"
    put(root, "documents/a/0.json.gz", documents("one", "two", "three"))
    put(root, "documents/b/1.json.zst", documents("vier", "fünf"))
    for tagger, scale in (("pii", 1), ("lang", 10)):
        put(root, f"attributes/{tagger}/a/0.json.gz", said("x", *(scale * n for n in range(3))))
        put(root, f"attributes/{tagger}/b/1.json.zst", said("x", *(scale * n for n in range(5, 7))))
    return root


def read(reader, *paths):
    return read_all(reader, *reader.find_files([str(path) for path in paths]))


def about(rows):
    return [json.loads(row["metadata"]) for row in rows]


@pytest.mark.parametrize("path", ["", "documents", "documents/a", "documents/*/*", "documents/b/1.json.zst"])
def test_attributes_are_found_from_the_root_its_documents_or_a_part_of_them(wiki, path):
    rows, dead, _ = read(DolmaReader(), wiki / path)
    assert not dead and rows
    assert all(set(one["attributes"]) == {"pii", "lang"} for one in about(rows))


@pytest.mark.parametrize("path", [".", "documents", "documents/a/0.json.gz", "documents/**/*.gz"])
def test_a_path_may_be_relative(wiki, monkeypatch, path):
    monkeypatch.chdir(wiki)
    rows, dead, _ = read(DolmaReader(), path)
    assert not dead and about(rows)[0]["attributes"]["lang"] == {"x__x": [[0, 3, 0]]}


def test_and_relative_to_the_documents_themselves(wiki, monkeypatch):
    monkeypatch.chdir(wiki / "documents")
    assert len(read(DolmaReader(), "a")[0]) == 3 and len(read(DolmaReader(), ".")[0]) == 5


def test_two_taggers_that_use_one_name_do_not_meet(wiki):
    rows, _, _ = read(DolmaReader(), wiki)
    assert [
        (row["text"], one["attributes"]["pii"]["x__x"][0][2], one["attributes"]["lang"]["x__x"][0][2])
        for row, one in zip(rows, about(rows))
    ] == [("one", 0, 0), ("two", 1, 10), ("three", 2, 20), ("vier", 5, 50), ("fünf", 6, 60)]


def test_a_documents_own_attributes_are_kept_beside_those_of_taggers(tmp_path):
    put(tmp_path, "documents/0.json.gz", [{"id": "d0", "text": "one", "attributes": {"x__x": 7}}])
    put(tmp_path, "attributes/t/0.json.gz", said("x", 1))
    rows, _, _ = read(DolmaReader(), tmp_path)
    assert about(rows)[0]["attributes"] == {"documents": {"x__x": 7}, "t": {"x__x": [[0, 3, 1]]}}


def test_taggers_are_chosen_and_may_be_packed_in_another_way(wiki):
    put(wiki, "attributes/exp/deep/a/0.json", said("x", 7, 8, 9))
    put(wiki, "attributes/exp/deep/b/1.json.gz", said("x", 1, 2))
    rows, dead, _ = read(DolmaReader(attributes=("exp/deep",)), wiki)
    assert not dead and [one["attributes"]["exp/deep"]["x__x"][0][2] for one in about(rows)] == [7, 8, 9, 1, 2]
    assert "attributes" not in about(read(DolmaReader(attributes=()), wiki)[0])[0]


def test_ids_are_those_of_the_documents_whatever_is_joined(wiki):
    ids = [row["id"] for row in read(DolmaReader(), wiki)[0]]
    assert ids == [row["id"] for row in read(DolmaReader(attributes=()), wiki)[0]]


def test_what_lacks_a_file_or_a_folder_is_named(wiki):
    with pytest.raises(InputError, match='there is no folder "pi"; did you mean "pii"'):
        DolmaReader(attributes=("pi",)).find_files([str(wiki)])
    (wiki / "attributes/pii/b/1.json.zst").unlink()
    with pytest.raises(InputError, match=r"attributes/pii has no file for .*1\.json\.zst, and one for 1 others"):
        DolmaReader().find_files([str(wiki)])
    with pytest.raises(InputError, match="no file there is in a folder called documents"):
        DolmaReader().find_files([str(wiki / "attributes")])
    with pytest.raises(RecipeError, match="cannot be a folder"):
        DolmaReader(attributes=("../x",))


@pytest.mark.parametrize(
    ("lines", "kinds", "texts", "reason"),
    [
        (said("x", 0, 1), ["no_signals"], ["one", "two"], "ends after 2 records"),
        (said("x", 0, 1, 2, 3, 4), ["more_signals"], ["one", "two", "three"], "2 records are left over"),
        (
            [said("x", 0)[0], *said("x", 0, 0, 0)[2:]],
            ["other_signals", "no_signals"],
            ["one"],
            "it is of id 'd2', and the document has 'd1'",
        ),
        ([{"id": "d0"}, *said("x", 0, 0, 0)[1:]], ["other_signals"], ["two", "three"], "no object `attributes`"),
        ([7, *said("x", 0, 0, 0)[1:]], ["no_signals"], ["two", "three"], "not a JSON object: 7"),
    ],
)
def test_signals_that_do_not_fit_are_dead_letters_with_their_file(tmp_path, lines, kinds, texts, reason):
    put(tmp_path, "documents/0.json.gz", documents("one", "two", "three"))
    put(tmp_path, "attributes/t/0.json.gz", lines)
    rows, dead, _ = read(DolmaReader(), tmp_path)
    assert [row["text"] for row in rows] == texts
    assert [letter["kind"] for letter in dead] == kinds and not any(letter["expected"] for letter in dead)
    assert reason in dead[0]["reason"] and (
        "0.json.gz" in dead[0]["reason"] or "t, record" in dead[0]["reason"] or "t: " in dead[0]["reason"]
    )


def test_a_line_that_is_no_document_has_its_signals_all_the_same(tmp_path):
    path = put(tmp_path, "documents/0.json", documents("one", "two", "three"))
    first, _, third = path.read_bytes().splitlines()
    path.write_bytes(first + b"\n{bad\n\n" + third + b"\n")
    put(tmp_path, "attributes/t/0.json", said("x", 0, 1, 2))
    rows, dead, counts = read(DolmaReader(), tmp_path)
    assert [row["text"] for row in rows] == ["one", "three"] and counts.skipped == {"blank_line": 1}
    assert [letter["kind"] for letter in dead] == ["bad_json"]


def test_a_damaged_file_of_either_kind_loses_what_follows_and_joins_nothing_wrong(tmp_path):
    rows = documents(*(f"text {n} {os.urandom(40).hex()}" for n in range(3000)))
    whole = put(tmp_path, "documents/0.json.gz", rows).read_bytes()
    put(tmp_path, "attributes/t/0.json.gz", said("x", *range(3000)))
    (tmp_path / "documents/0.json.gz").write_bytes(whole[: len(whole) // 2])
    found, dead, _ = read(DolmaReader(), tmp_path)
    assert 1000 < len(found) < 2000 and [letter["kind"] for letter in dead] == ["truncated"]
    (tmp_path / "documents/0.json.gz").write_bytes(whole)
    whole = (tmp_path / "attributes/t/0.json.gz").read_bytes()
    (tmp_path / "attributes/t/0.json.gz").write_bytes(whole[: len(whole) // 2])
    found, dead, _ = read(DolmaReader(), tmp_path)
    assert {letter["kind"] for letter in dead} == {"no_signals"} and len(found) + len(dead) == 3000
    assert all(one["attributes"]["t"]["x__x"][0][2] == one["metadata"]["n"] for one in about(found))


def test_a_part_of_a_file_has_its_own_signals(tmp_path):
    put(tmp_path, "documents/0.json", documents("one", "two", "three"))
    put(tmp_path, "attributes/t/0.json", said("x", 5, 6, 7))
    reader = DolmaReader()
    (piece,) = reader.split(reader.find_files([str(tmp_path)]), 1)
    starts = [row["position"] for row in read_piece(reader, piece)[0]]
    for part, texts in ((replace(piece, start=1), ["two", "three"]), (replace(piece, stop=starts[1]), ["one"])):
        rows, counts = read_piece(reader, part)
        assert [row["text"] for row in rows] == texts and not counts.dead_letters


def test_another_input_when_a_file_beside_it_changes(wiki):
    before = DolmaReader().find_files([str(wiki)])
    put(wiki, "attributes/pii/a/0.json.gz", said("x", 4, 4, 4, 4))
    after = DolmaReader().find_files([str(wiki)])
    assert [a.fingerprint == b.fingerprint for a, b in zip(before, after)] == [False, True]


# ------------------------------------------------------------------ RedPajama-v2


@pytest.fixture
def pajama(tmp_path):
    root, at = tmp_path / "rp", "2023-06/0000/en_head"
    rows = [
        {"url": f"http://made.org/{n}", "date_download": "2023-02-01T00:00:00Z", "digest": f"sha1:{n}",
         "raw_content": f"text {n}", "language": "en"}
        for n in range(4)
    ]  # fmt: skip
    put(root, f"documents/{at}.json.gz", rows)
    signals = [
        {"id": f"{at}.json.gz/{n}", "id_int": n, "metadata": {"url": f"http://made.org/{n}"},
         "quality_signals": {"ccnet_perplexity": [[0, 6, 100.5 * n]], "rps_doc_ut1_blacklist": [[0, 6, None]]}}
        for n in range(4)
    ]  # fmt: skip
    put(root, f"quality_signals/{at}.signals.json.gz", signals)
    table(root, f"duplicates/{at}.duplicates.parquet", {"doc_id": [f"{at}.json.gz/2"], "digest": ["sha1:2"]})
    bands = {"id": [f"{at}.json.gz/{n}" for n in range(4)], "signature_sim0.7": [[b"\x01\xff"]] * 3 + [None]}
    table(root, f"minhash/{at}.minhash.parquet", bands)
    return root


def table(root, name, columns):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), root / name)


def test_quality_signals_duplicates_and_signatures_are_joined(pajama):
    rows, dead, _ = read(RedpajamaReader(parts=("quality_signals", "duplicates", "minhash")), pajama)
    assert not dead and [row["text"] for row in rows] == [f"text {n}" for n in range(4)]
    assert rows[1]["url"] == "http://made.org/1" and rows[1]["date"] == "2023-02-01T00:00:00Z"
    assert [one["quality_signals"]["ccnet_perplexity"][0][2] for one in about(rows)] == [0, 100.5, 201, 301.5]
    assert [one["is_duplicate"] for one in about(rows)] == [False, False, True, False]
    assert about(rows)[0]["minhash"] == {"signature_sim0.7": ["01ff"]} and about(rows)[3]["minhash"] == {
        "signature_sim0.7": None
    }
    assert about(rows)[3]["id"] == "2023-06/0000/en_head.json.gz/3"
    usual, _, _ = read(RedpajamaReader(), pajama / "documents")
    assert "minhash" not in about(usual)[0] and "is_duplicate" in about(usual)[0]
    alone, _, _ = read(RedpajamaReader(parts=()), pajama / "documents/2023-06")
    assert [row["id"] for row in alone] == [row["id"] for row in rows]


def test_signals_of_other_documents_are_never_joined(pajama):
    at = "2023-06/0000/en_head"
    path = pajama / f"quality_signals/{at}.signals.json.gz"
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    lines[2]["metadata"]["url"] = "http://other.org/"
    put(pajama, f"quality_signals/{at}.signals.json.gz", [lines[1], lines[0], lines[2]])
    table(pajama, f"duplicates/{at}.duplicates.parquet", {"doc_id": [f"{at}.json.gz/9"]})
    rows, dead, _ = read(RedpajamaReader(), pajama)
    assert not rows and [letter["kind"] for letter in dead] == ["other_signals"] * 3 + ["no_signals", "more_signals"]
    assert (
        "its id is '2023-06/0000/en_head.json.gz/1', and that of the document ends in en_head.json.gz/0"
        in (dead[0]["reason"])
    )
    assert "it is of http://other.org/, and the document of http://made.org/2" in dead[2]["reason"]


def test_parts_that_are_not_there_are_named(pajama):
    put(pajama, "documents/2023-06/0000/en_tail.json.gz", [{"raw_content": "x", "url": "u"}])
    with pytest.raises(InputError, match=r"quality_signals has no file for .*en_tail.json.gz, and one for 1 others"):
        RedpajamaReader().find_files([str(pajama)])
    assert len(read(RedpajamaReader(parts=()), pajama)[0]) == 5
    with pytest.raises(RecipeError, match='no part "quality"; did you mean "quality_signals"'):
        RedpajamaReader(parts=("quality",))


def test_a_damaged_table_is_a_dead_letter_for_each_document(pajama):
    (pajama / "minhash/2023-06/0000/en_head.minhash.parquet").write_bytes(b"PAR1 no PAR1")
    rows, dead, _ = read(RedpajamaReader(parts=("minhash",)), pajama)
    assert not rows and {letter["kind"] for letter in dead} == {"no_signals"} and len(dead) == 4
