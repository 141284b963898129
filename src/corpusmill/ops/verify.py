"""Read what a run or an export has written back, and say what is wrong with it."""

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import zstandard

from corpusmill import storage
from corpusmill.errors import CorpusmillError, InputError, ShardError
from corpusmill.ops.rewrite_output import open_lines
from corpusmill.shards import Shards, open_shards
from corpusmill.shards.layout import INDEX
from corpusmill.shards.verify import Controls
from corpusmill.store.run_folder import CANARIES_RECORD, FORGOTTEN, RunFolder
from corpusmill.store.sums import files_in, sum_problems, sums_in

FOLDERS_SHOWN = 5  # in a message
TABLE_BATCH_ROWS = 1 << 16  # rows of a table in memory at a time
CONTENT_CHECKS = {  # format -> what is checked of it beside the checksums of its files
    "parquet": "every page", "jsonl": "every line", "megatron": "its indexes", "mds": "its index",
    "litdata": "its index",
}  # fmt: skip


@dataclass(frozen=True)
class VerifiedFolder:
    """A folder that was read back.

    format     "shards", "megatron", "mds", "litdata", "nanogpt", "parquet" or "jsonl": what its files are;
               "files" where too few are left to tell
    tokens     in it, padding too; None where that is not counted
    compared   what was checked of it, in words: "SHA-256, every line"; empty if nothing could be
    problems   a sentence each, which begins with the file; empty if everything is as it was written
    controls   of shards: documents, and the tokens that begin and end them
    """

    folder: Path
    format: str
    files: int
    bytes: int
    tokens: int | None
    problems: tuple[str, ...]
    compared: str = ""
    controls: Controls | None = None

    def __str__(self) -> str:
        """What became of it, for a line: "verified: SHA-256, every line", or "DAMAGED: …" with the first file."""
        if self.problems:
            others = f"; and {len(self.problems) - 1} more problems" if len(self.problems) > 1 else ""
            return f"DAMAGED: {self.problems[0]}{others}"
        return f"verified: {self.compared}" if self.compared else "not verified: nothing is known of its files"


def verify(run: RunFolder, thorough: bool = True, tokenizer: str | None = None) -> Iterator[VerifiedFolder]:
    """Check a run, folder by folder of its output. One that cannot be read at all has that as its problem.

    thorough, tokenizer   see `verify_folder`
    """
    for name in run.outputs():
        folder = run.output_folder(name)
        try:
            yield verify_folder(folder, thorough, tokenizer)
        except (InputError, ShardError) as error:
            yield VerifiedFolder(folder, "files", 0, 0, None, (str(error),))


def verify_place(address: str, tokenizer: str | None = None) -> Iterator[VerifiedFolder]:
    """Check a run, or one folder that a run or an export has written.

    tokenizer   see `verify_folder`

    Raises InputError if nothing there was written by a run or an export, ShardError if an index cannot be read.
    """
    run = RunFolder(address)
    names = run.outputs()
    if names:
        yield from verify(run, tokenizer=tokenizer)
    elif run.exists():
        raise InputError(f"{address}: the run has no output yet. Run its recipe, with something under `write:`.")
    elif not run.path.is_dir() or not any(run.path.iterdir()):
        raise InputError(f"{address}: nothing is there. Name a run, a folder of its output, or an export.")
    elif all(path.is_dir() for path in run.path.iterdir()):
        folders = ", ".join(sorted(path.name for path in run.path.iterdir())[:FOLDERS_SHOWN])
        raise InputError(
            f"{address}: there are only folders here: {folders}. Name a run, a folder of its output, or an export."
        )
    else:
        yield verify_folder(run.path, tokenizer=tokenizer)


@dataclass(frozen=True)
class Canaries:
    """What a run has planted, and what of it is in its training shards.

    strings, copies   that the recipe asks for
    documents         with them that are in the shards
    problems          a sentence for each string of which a document is missing
    """

    strings: int
    copies: int
    documents: int
    problems: tuple[str, ...]

    def __str__(self) -> str:
        verdict = "DAMAGED" if self.problems else "verified"
        return f"canaries: {self.documents:,d} of {self.copies:,d} copies of {self.strings:,d} strings, {verdict}"


def verify_canaries(run: RunFolder) -> Canaries | None:
    """Count the canaries in the shards of a run, by the manifest; None if it has planted nothing, or has no shards.

    Those that `forget` has taken out are not missed, nor those that the packer has cut off with the end of the stream.
    """
    record = run.read(CANARIES_RECORD)
    if record is None or "shards" not in run.outputs():
        return None
    shards = open_shards(run.output_folder("shards"))
    ids = [document["id"] for canary in record["canaries"] for document in canary["documents"]]
    numbers = shards.numbers_of(ids)
    forgotten = set(shards.forgotten.tolist())
    present = {id for id, own in numbers.items() if not forgotten.issuperset(own)}
    taken_out = {id for id, own in numbers.items() if forgotten.issuperset(own)}
    cut_off = shards.index.discarded_documents
    problems, copies = [], 0
    for canary in record["canaries"]:
        copies += canary["copies"]
        own = [document["id"] for document in canary["documents"]]
        missing = canary["copies"] - sum(id in present or id in taken_out for id in own)
        if missing > cut_off and not storage.exists(run.name_of(FORGOTTEN)):
            amount = f"{missing} of {canary['copies']} copies of {canary['name']}"
            problems.append(f"{run.place}: {amount} are not in the shards")
    return Canaries(len(record["canaries"]), copies, len(present), tuple(problems))


def verify_folder(folder: Path, thorough: bool = True, tokenizer: str | None = None) -> VerifiedFolder:
    """Check one folder of training shards, or of another format that a run or an export has written.

    thorough    look into files of other formats, too, and not only at their checksums: that takes ten times as long;
                and compare the tokenizer that made the shards, if it is still here
    tokenizer   that shards should have been made with, by name or path, instead of the one that they name
    """
    controls = None
    if not folder.is_dir():
        open_shards(folder)  # says what is missing
    if _is_native(folder):
        shards = open_shards(folder)
        controls = Controls()
        problems, tokens, kind = list(shards.verify(controls)), len(shards), "shards"
        names, compared = files_in(folder), "XXH3-128, token ids, documents"
        if thorough or tokenizer:
            another = list(_other_tokenizer(shards, tokenizer))
            problems, compared = problems + another, f"{compared}, tokenizer"
    else:
        names = files_in(folder)
        kind, look_into = _kind(folder, names)
        has_sums = sums_in(folder) is not None
        thorough = thorough or not has_sums
        inspected = CONTENT_CHECKS.get(kind, "") if thorough else ""
        compared = ", ".join(filter(None, ("SHA-256" * has_sums, inspected)))
        problems, tokens = list(sum_problems(folder)), None
        if thorough and (not problems or not has_sums):
            tokens, content_problems = look_into(folder, names)
            problems = problems + content_problems
    size = sum((folder / name).stat().st_size for name in names)
    return VerifiedFolder(folder, kind, len(names), size, tokens, tuple(problems), compared, controls)


def _other_tokenizer(shards: Shards, name: str | None) -> Iterator[str]:
    """A problem if the tokenizer of this name, or else the one that the shards name, gives other ids than they say.

    Nothing is said of shards of earlier versions, and of a tokenizer that is not on this machine; one that is given
    must be. Nothing is downloaded for it.
    """
    from corpusmill.models import tokenizer
    from corpusmill.shards.writer import sample_ids

    if shards.index.sample_sha256 is None and name is None:
        return
    try:
        loaded = tokenizer.load(name or shards.index.tokenizer)
    except (CorpusmillError, OSError):
        if name:
            raise
        return
    try:
        shards.check_ids(sample_ids(loaded))
    except ShardError as error:
        yield str(error)


def _is_native(folder: Path) -> bool:
    """Whether this is a folder of training shards, whose index holds its checksums. An empty one is taken for one."""
    if sums_in(folder):
        return False
    record = _json(folder / INDEX) if (folder / INDEX).exists() else None
    if isinstance(record, dict) and "format" not in record:
        return not ("shards" in record or "chunks" in record)
    return (folder / INDEX).exists() or (folder / "documents").is_dir() or not any(folder.iterdir())


def _kind(folder: Path, names: list[str]) -> tuple[str, Any]:
    """What the files are, and what looks into them: (folder, names) -> tokens, problems."""
    record = _json(folder / INDEX) if INDEX in names else None
    if isinstance(record, dict):
        return ("litdata", _litdata) if "chunks" in record else ("mds", _mds)

    def has(suffix: str) -> bool:
        return any(name.endswith(suffix) for name in names)

    if has(".mds"):
        return "mds", _nothing_more  # its index is missing or damaged, which the checksums say
    if has(".idx"):
        return "megatron", _megatron
    if has(".npy"):
        return "olmo", _olmo
    if has(".parquet"):
        return "parquet", _parquet
    if "train_000000.bin" in names or "val_000000.bin" in names:
        return "llmc", _llmc
    if has(".bin"):
        return "nanogpt", _nothing_more
    if any(map(has, (".jsonl", ".jsonl.gz", ".jsonl.zst"))):
        return "jsonl", _jsonl
    if sums_in(folder):
        return "files", _nothing_more
    raise InputError(f"{folder}: holds no shards, and nothing else that `corpusmill run` or `export` writes.")


Found = tuple[int | None, list[str]]


def _nothing_more(folder: Path, names: list[str]) -> Found:
    return None, []


def _megatron(folder: Path, names: list[str]) -> Found:
    """Each index describes its .bin file from the first byte to the last, one document after the other."""
    from corpusmill.write.megatron import read_index

    problems, tokens = [], 0
    for name in names:
        if not name.endswith(".idx"):
            continue
        path, ids = folder / name, (folder / name).with_suffix(".bin")
        try:
            index = read_index(path)
        except ShardError as error:
            problems.append(str(error))
            continue
        lengths = index.lengths.astype(np.int64)
        tokens += int(lengths.sum())
        promised = int(lengths.sum()) * index.dtype.itemsize
        if not ids.exists():
            problems.append(f"{ids}: is not there, and {name} describes it")
        elif ids.stat().st_size != promised:
            problems.append(f"{ids}: has {ids.stat().st_size} bytes, {name} says {promised}; it was cut or changed")
        if not np.array_equal(index.pointers, (np.cumsum(lengths) - lengths) * index.dtype.itemsize):
            problems.append(f"{path}: documents do not begin where the ones before them end")
        if not np.array_equal(index.documents, np.arange(len(lengths) + 1)):
            problems.append(f"{path}: not every sequence is one document")
    return tokens, problems


def _olmo(folder: Path, names: list[str]) -> Found:
    """Each table describes its ids from the first to the last, one document after the other."""
    import csv

    problems, tokens = [], 0
    for name in names:
        if not name.endswith(".npy"):
            continue
        table = folder / f"{name.removesuffix('.npy')}.csv.gz"
        end = 0
        try:
            with gzip.open(table, "rt", encoding="ascii") as lines:
                for number, (first, stop, *_) in enumerate(csv.reader(lines)):
                    if int(first) != end or int(stop) <= end:
                        problems.append(f"{table}: document {number} begins at {first}, after an end at {end}")
                        break
                    end = int(stop)
        except (OSError, EOFError, ValueError) as error:
            problems.append(f"{table}: cannot be read: {error}")
            continue
        size = (folder / name).stat().st_size
        if size not in (2 * end, 4 * end):
            problems.append(f"{folder / name}: has {size} bytes, {table.name} says {end} tokens; it was cut or changed")
        tokens += end
    return tokens, problems


def _llmc(folder: Path, names: list[str]) -> Found:
    """Each header says what kind of ids the file has, and how many."""
    from corpusmill.tokens.llmc_header import HEADER, LLMC_MAGIC

    problems, tokens = [], 0
    widths = {kind: width for width, kind in LLMC_MAGIC.items()}
    for name in names:
        with (folder / name).open("rb") as file:
            header = np.frombuffer(file.read(4 * HEADER).ljust(4 * HEADER, b"\0"), "<i4")
        magic, version, count = header[:3].tolist()
        width = widths.get((magic, version), 0)
        if not width or header[3:].any():
            problems.append(f"{folder / name}: begins with {magic} and {version}, which is no file of llm.c")
        elif (size := (folder / name).stat().st_size) != 4 * HEADER + width * count:
            problems.append(f"{folder / name}: has {size} bytes, its header says {count} tokens; it was cut or changed")
        tokens += count
    return tokens, problems


def _parquet(folder: Path, names: list[str]) -> Found:
    """Every page can be read; of rows of tokens, their columns agree: see `_token_problems`."""
    import pyarrow.parquet as pq

    problems: list[str] = []
    tokens: int | None = None
    for name in names:
        if not name.endswith(".parquet"):
            continue
        try:
            file = pq.ParquetFile(folder / name)
            has_tokens = "input_ids" in file.schema_arrow.names
            row = 0
            for batch in file.iter_batches(1024 if has_tokens else TABLE_BATCH_ROWS, use_threads=False):
                if has_tokens:
                    tokens = (tokens or 0) + int(_sizes(batch["input_ids"]).sum())
                    if wrong := _token_problems(batch):
                        at, problem = wrong
                        problems.append(f"{folder / name}: row {row + at} {problem}")
                        break
                row += len(batch)
        except (pa.ArrowException, OSError) as error:
            problems.append(f"{folder / name}: cannot be read: {error}")
    return tokens, problems


def _token_problems(batch: Any) -> tuple[int, str] | None:
    """The first row of tokens that is not what it should be, and what is wrong; None if all are sound.

    The documents in a packed row fit into it; `token_count` counts; what there is for each token is as long as the
    tokens; labels are the tokens, or -100.
    """
    import pyarrow.compute as pc

    columns = set(batch.schema.names)
    sizes = _sizes(batch["input_ids"])
    if {"documents", "lengths"} <= columns:
        edges = batch["lengths"].offsets.to_numpy()
        total = np.append(0, np.cumsum(batch["lengths"].values.to_numpy(), dtype=np.int64))
        row_tokens = total[edges[1:]] - total[edges[:-1]]
        differ = _sizes(batch["lengths"]) != _sizes(batch["documents"])
        if len(wrong := np.flatnonzero((row_tokens > sizes) | differ)):
            return int(wrong[0]), "is shorter than the documents in it"
    if "token_count" in columns:
        counted = batch["token_count"].to_numpy(zero_copy_only=False)
        if len(wrong := np.flatnonzero(counted != sizes)):
            at = int(wrong[0])
            return at, f"has {sizes[at]} tokens, its token_count says {counted[at]}"
    for name in ("labels", "attention_mask", "position_ids"):
        if name in columns and len(wrong := np.flatnonzero(_sizes(batch[name]) != sizes)):
            return int(wrong[0]), f"has another number of {name} than of tokens"
    if "labels" in columns:
        labels = pc.list_flatten(batch["labels"]).to_numpy()
        tokens = pc.list_flatten(batch["input_ids"]).to_numpy()
        if len(wrong := np.flatnonzero((labels != tokens) & (labels != -100))):
            at = int(np.searchsorted(np.cumsum(sizes), wrong[0], "right"))
            return at, "has a label that is neither its token nor -100"
    return None


def _sizes(lists: Any) -> Any:
    """(rows,) how many values each list has."""
    import pyarrow.compute as pc

    return pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)


def _jsonl(folder: Path, names: list[str]) -> Found:
    """Every line is an object; of documents with tokens, `token_count` counts them."""
    import orjson

    problems: list[str] = []
    tokens: int | None = None
    for name in names:
        if ".jsonl" not in name:
            continue
        try:
            with open_lines(folder / name) as lines:
                for number, line in enumerate(lines, 1):
                    record = orjson.loads(line)
                    ids = record.get("input_ids")
                    if isinstance(ids, list):
                        tokens = (tokens or 0) + len(ids)
                        if record.get("token_count", len(ids)) != len(ids):
                            problems.append(
                                f"{folder / name}: line {number} has {len(ids)} tokens, its token_count says "
                                f"{record['token_count']}"
                            )
                            break
        except (ValueError, AttributeError, OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
            problems.append(f"{folder / name}: cannot be read: {error}")
    return tokens, problems


def _mds(folder: Path, names: list[str]) -> Found:
    files = {shard["raw_data"]["basename"]: shard["raw_data"]["bytes"] for shard in _json(folder / INDEX)["shards"]}
    return None, _as_indexed(folder, names, files, ".mds")


def _litdata(folder: Path, names: list[str]) -> Found:
    chunks = _json(folder / INDEX)["chunks"]
    files = {chunk["filename"]: chunk["chunk_bytes"] for chunk in chunks}
    return sum(chunk["dim"] for chunk in chunks), _as_indexed(folder, names, files, ".bin")


def _as_indexed(folder: Path, names: list[str], files: dict[str, int], suffix: str) -> list[str]:
    problems = [f"{folder / name}: {INDEX} names it, and it is not there" for name in files if name not in names]
    problems += [
        f"{folder / name}: is not named in {INDEX}" for name in names if name.endswith(suffix) and name not in files
    ]
    for name in set(files) & set(names):
        if (size := (folder / name).stat().st_size) != files[name]:
            problems.append(f"{folder / name}: has {size} bytes, {INDEX} says {files[name]}; it was cut or changed")
    return sorted(problems)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
