"""What `verify` says of folders that were made by hand: their format, their content, and each kind of damage."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from corpusmill.errors import InputError, ShardError
from corpusmill.ops.verify import VerifiedFolder, verify_folder, verify_place
from corpusmill.store.sums import write_sums

LINE = b'{"id": "a", "text": "one"}\n'


def with_files(folder, files, sums=True):
    """A folder with these files, and their checksums."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    if sums:
        write_sums(folder)
    return folder


def packed(name: str, content: bytes) -> bytes:
    if name.endswith(".gz"):
        return gzip.compress(content, mtime=0)
    return zstandard.ZstdCompressor().compress(content) if name.endswith(".zst") else content


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.jsonl", "jsonl"),
        ("a.jsonl.gz", "jsonl"),
        ("a.jsonl.zst", "jsonl"),
        ("train.bin", "nanogpt"),
        ("a.txt", "files"),
        ("a.mds", "mds"),
    ],
)
def test_the_format_is_what_the_files_are(tmp_path, name, kind):
    folder = verify_folder(with_files(tmp_path / "out", {name: packed(name, LINE)}))
    assert (folder.format, folder.files, folder.problems, folder.tokens) == (kind, 1, (), None)
    assert folder.compared == (
        "SHA-256, every line" if kind == "jsonl" else "SHA-256, its index" if kind == "mds" else "SHA-256"
    )


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"])
@pytest.mark.parametrize("content", [b'{"id": "a"\n', b"[1, 2]\n", LINE + b"\n" + LINE])
def test_a_line_that_is_no_object_is_found_though_the_checksums_are_right(tmp_path, name, content):
    folder = with_files(tmp_path / "out", {name: packed(name, content)})
    (problem,) = verify_folder(folder).problems
    assert problem.startswith(f"{folder / name}: cannot be read: ")


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst"])
def test_a_file_that_was_cut_is_found(tmp_path, name):
    content = packed(name, LINE * 1000)
    folder = with_files(tmp_path / "out", {name: content[: len(content) // 2]})
    assert [problem.partition(": ")[0] for problem in verify_folder(folder).problems] == [str(folder / name)]


def test_every_frame_of_a_file_is_read(tmp_path):
    frames = [packed("a.zst", LINE), packed("a.zst", b"no object\n")]
    folder = with_files(tmp_path / "out", {"a.jsonl.zst": b"".join(frames)})
    assert verify_folder(folder).problems[0].startswith(f"{folder}/a.jsonl.zst: cannot be read: ")


def test_tokens_of_lines_are_counted_and_compared(tmp_path):
    lines = [{"input_ids": [1, 2, 3], "token_count": 3}, {"input_ids": [4]}, {"text": "no tokens"}]
    content = "\n".join(map(json.dumps, lines)).encode()
    assert verify_folder(with_files(tmp_path / "a", {"a.jsonl": content})).tokens == 4
    lines[1] = {"input_ids": [4, 5], "token_count": 1}
    content = "\n".join(map(json.dumps, lines)).encode()
    found = verify_folder(with_files(tmp_path / "b", {"a.jsonl": content}))
    assert found.problems == (f"{tmp_path}/b/a.jsonl: line 2 has 2 tokens, its token_count says 1",)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "b.jsonl").unlink(), "b.jsonl"),
        (lambda folder: (folder / "b.jsonl").write_bytes(LINE.upper()), "b.jsonl"),
        (lambda folder: (folder / "c.jsonl").write_bytes(LINE), "c.jsonl"),
        (lambda folder: (folder / ".SHA256SUMS").write_text("no sums"), "SHA256SUMS"),
    ],
)
def test_checksums_find_what_is_missing_changed_and_new(tmp_path, damage, message):
    folder = with_files(tmp_path / "out", {"a.jsonl": LINE, "b.jsonl": LINE})
    assert verify_folder(folder).problems == ()
    damage(folder)
    found = verify_folder(folder)
    assert found.problems and all(message in problem for problem in found.problems)
    assert str(found).startswith("DAMAGED: ")


def test_without_checksums_the_content_is_all_there_is(tmp_path):
    folder = with_files(tmp_path / "out", {"a.jsonl": LINE + b"no object\n"}, sums=False)
    for thorough in (True, False):
        found = verify_folder(folder, thorough)
        assert found.compared == "every line", "or nothing would be compared"
        missing, damaged = found.problems
        assert "SHA256SUMS: it is missing" in missing and damaged.startswith(f"{folder}/a.jsonl: cannot be read: ")


def test_a_line_about_many_problems_has_the_first_and_their_number(tmp_path):
    def folder(*problems):
        return str(VerifiedFolder(tmp_path, "jsonl", 1, 1, None, problems, "SHA-256"))

    assert folder() == "verified: SHA-256"
    assert folder("a: is gone") == "DAMAGED: a: is gone"
    assert folder("a: is gone", "b", "c") == "DAMAGED: a: is gone; and 2 more problems"
    assert str(VerifiedFolder(tmp_path, "files", 0, 0, None, ())) == "not verified: nothing is known of its files"


ROWS = {
    "input_ids": [[1, 2, 3, 4], [5, 6, 7, 8]],
    "token_count": [4, 4],
    "labels": [[1, 2, -100, 4], [-100, 6, 7, 8]],
    "attention_mask": [[1] * 4, [1] * 4],
    "documents": [[0], [1, 2]],
    "lengths": [[4], [1, 3]],
}


def table(**changes) -> pa.Table:
    return pa.table({**ROWS, **changes})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"token_count": [4, 5]}, "row 1 has 4 tokens, its token_count says 5"),
        ({"labels": [[1, 2, 3, 4], [5, 6, 9, 8]]}, "row 1 has a label that is neither its token nor -100"),
        ({"labels": [[1, 2, 3], [5, 6, 7, 8]]}, "row 0 has another number of labels than of tokens"),
        ({"attention_mask": [[1] * 4, [1] * 5]}, "row 1 has another number of attention_mask than of tokens"),
        ({"lengths": [[5], [1, 3]]}, "row 0 is shorter than the documents in it"),
        ({"lengths": [[4], [4]]}, "row 1 is shorter than the documents in it"),
    ],
)
def test_rows_of_tokens_agree_with_their_columns(tmp_path, changes, problem):
    (tmp_path / "out").mkdir()
    pq.write_table(table(**changes), tmp_path / "out" / "a.parquet")
    write_sums(tmp_path / "out")
    found = verify_folder(tmp_path / "out")
    assert found.tokens == 8
    assert found.problems == (() if problem is None else (f"{tmp_path}/out/a.parquet: {problem}",))


def test_rows_are_counted_over_all_batches(tmp_path):
    rows = 3000
    columns = {"input_ids": [[1, 2]] * rows, "token_count": [2] * (rows - 1) + [3]}
    (tmp_path / "out").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "out" / "a.parquet")
    write_sums(tmp_path / "out")
    assert verify_folder(tmp_path / "out").problems[0].endswith("row 2999 has 2 tokens, its token_count says 3")


@pytest.mark.parametrize("size", [0, 3, 100])
def test_a_table_that_is_none_is_a_problem(tmp_path, size):
    found = verify_folder(with_files(tmp_path / "out", {"a.parquet": b"PAR1" * size}))
    assert found.format == "parquet" and found.problems[0].startswith(f"{tmp_path}/out/a.parquet: cannot be read: ")


def header(magic: int, version: int, count: int, rest: int = 0) -> bytes:
    return np.array([magic, version, count, *[rest] * 253], "<i4").tobytes()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (header(20240520, 1, 3) + b"\0" * 6, None),
        (header(20240801, 7, 3) + b"\0" * 12, None),
        (header(20240520, 1, 3) + b"\0" * 12, "has 1036 bytes, its header says 3 tokens; it was cut or changed"),
        (header(20240520, 7, 3) + b"\0" * 6, "begins with 20240520 and 7, which is no file of llm.c"),
        (header(20240520, 1, 3, 1) + b"\0" * 6, "begins with 20240520 and 1, which is no file of llm.c"),
        (b"", "begins with 0 and 0, which is no file of llm.c"),
    ],
)
def test_a_file_of_llmc_is_as_long_as_its_header_says(tmp_path, content, problem):
    found = verify_folder(with_files(tmp_path / "out", {"train_000000.bin": content}))
    assert found.format == "llmc"
    assert found.problems == (() if problem is None else (f"{tmp_path}/out/train_000000.bin: {problem}",))
    assert found.tokens == (3 if content else 0)


def olmo(rows: list[str], size: int) -> dict[str, bytes]:
    return {"a.npy": b"\0" * size, "a.csv.gz": gzip.compress("\n".join(rows).encode())}


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (olmo(["0,3,a", "3,5,b"], 10), None),
        (olmo(["0,3,a", "3,5,b"], 20), None),
        (olmo(["0,3,a", "4,5,b"], 10), "a.csv.gz: document 1 begins at 4, after an end at 3"),
        (olmo(["0,0,a"], 0), "a.csv.gz: document 0 begins at 0, after an end at 0"),
        (olmo(["0,5,a"], 12), "a.npy: has 12 bytes, a.csv.gz says 5 tokens; it was cut or changed"),
        (olmo(["0,five"], 10), "a.csv.gz: cannot be read: "),
        ({"a.npy": b"\0\0"}, "a.csv.gz: cannot be read: "),
        ({"a.npy": b"\0\0", "a.csv.gz": b"none"}, "a.csv.gz: cannot be read: "),
    ],
)
def test_a_table_of_olmo_describes_its_ids(tmp_path, files, problem):
    found = verify_folder(with_files(tmp_path / "out", files))
    assert found.format == "olmo"
    assert not found.problems if problem is None else found.problems[0].startswith(f"{tmp_path}/out/{problem}")


@pytest.mark.parametrize(
    ("files", "format", "problems"),
    [
        ({"index.json": {"shards": [{"raw_data": {"basename": "a.mds", "bytes": 3}}]}, "a.mds": "abc"}, "mds", []),
        (
            {"index.json": {"shards": [{"raw_data": {"basename": "a.mds", "bytes": 4}}]}, "a.mds": "abc"},
            "mds",
            ["a.mds: has 3 bytes, index.json says 4; it was cut or changed"],
        ),
        (
            {"index.json": {"chunks": [{"filename": "a.bin", "chunk_bytes": 1, "dim": 9}]}, "b.bin": "x"},
            "litdata",
            ["a.bin: index.json names it, and it is not there", "b.bin: is not named in index.json"],
        ),
    ],
)
def test_an_index_names_the_files_that_there_are(tmp_path, files, format, problems):
    contents = {name: (json.dumps(text) if isinstance(text, dict) else text).encode() for name, text in files.items()}
    found = verify_folder(with_files(tmp_path / "out", contents))
    assert (found.format, list(found.problems)) == (format, [f"{tmp_path}/out/{problem}" for problem in problems])
    assert found.tokens == (9 if format == "litdata" else None)


def test_what_is_no_output_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no shards, and nothing else"):
        verify_folder(with_files(tmp_path / "out", {"a.txt": b"mine"}, sums=False))
    with pytest.raises((InputError, ShardError), match="none"):
        verify_folder(tmp_path / "none")


def test_a_run_without_output_is_told_to_write_some(corpusmill, tmp_path):
    (tmp_path / "d.jsonl").write_bytes(LINE)
    (tmp_path / "r.yaml").write_text(f"read: {{jsonl: {tmp_path}/d.jsonl}}\nrun: {{executor: serial}}\n")
    assert corpusmill("run", tmp_path / "r.yaml", "--folder", tmp_path / "run")[0] == 0
    with pytest.raises(InputError, match=r"the run has no output yet\. Run its recipe, with something under `write:`"):
        list(verify_place(str(tmp_path / "run")))
