"""Finished shards in other formats: what is exported is what a run would have written, byte for byte.

    parquet_tokens, mds, litdata   packed rows, a file for each shard
    megatron, olmo                 documents
    nanogpt, llmc                  train.bin and val.bin; train_000000.bin …, val_000000.bin
    nanochat                       the text in shuffled Parquet, the last file for validation
    jsonl, parquet                 the text of the documents, which the run has kept
    tokenized                      documents with their token ids
    argilla, label_studio          a sample of kept and dropped documents, for people to judge

Everything is read and written in parts: memory does not grow with the data.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from corpusmill import system, write
from corpusmill.engine.work.split import SPLIT, SplitSubset
from corpusmill.errors import CorpusmillError, InputError, RecipeError, did_you_mean
from corpusmill.export.nanochat import Nanochat
from corpusmill.export.review import SAMPLE_SIZE, write_review
from corpusmill.export.streams import Llmc, NanoGPT, Progress, Validation
from corpusmill.export.texts import write_texts
from corpusmill.shards import Shards, open_shards
from corpusmill.shards.documents import DocumentRange, documents
from corpusmill.shards.layout import INDEX, SPLITS, TRAIN, VALIDATION, output_of
from corpusmill.shards.token_range import TokenRange
from corpusmill.storage import write_atomic
from corpusmill.store.run_folder import STAGES_RECORD, RunFolder
from corpusmill.store.sums import files_in, write_sums
from corpusmill.write import (
    DocumentTokens,
    DocumentWriter,
    Indexed,
    NeedsFullRows,
    RowWriter,
    TokenWriter,
    file_name,
    tokens_per_file,
)

# Formats that a run does not write.
EXPORT_FORMATS: dict[str, type[Any]] = {"nanogpt": NanoGPT, "llmc": Llmc, "nanochat": Nanochat}
UNFINISHED_MARK = ".corpusmill-export"  # in a folder that an export is making
REVIEW_FORMATS = ("argilla", "label_studio")  # formats of `review`
# Which formats each of these is for.
TAKERS = {
    "val_fraction": ("nanogpt", "llmc", "nanochat"),
    "val_tokens": ("nanogpt", "llmc"),
    "sample": REVIEW_FORMATS,
}
VAL_FRACTION = 0.0005  # what nanoGPT's own data/openwebtext/prepare.py keeps back


@dataclass(frozen=True)
class Exported:
    """A folder that was written.

    documents   in it; None where rows are written, which do not count them
    tokens      in it, padding too where rows are written; None for text
    """

    folder: Path
    format: str
    files: int
    bytes: int
    documents: int | None
    tokens: int | None


def formats() -> list[str]:
    """What `export` can write."""
    return sorted([*(name for name in write.names() if name != "shards"), *EXPORT_FORMATS, *REVIEW_FORMATS])


def export(
    source: str | os.PathLike[str],
    format: str,
    folder: str | os.PathLike[str],
    *,
    val_fraction: float | None = None,
    val_tokens: int | None = None,
    sample: int | None = None,
    progress: Progress = lambda done, whole: None,
    **settings: Any,
) -> Exported:
    """Write finished shards in another format, into a new folder, with .SHA256SUMS.

    source         a run, or a folder of training shards; for text, nanochat and review, a run
    format         one of `formats()`
    val_fraction   for nanogpt, llmc and nanochat, of a run whose recipe has no `split`: the share of documents for
                   validation, .0005 if not given. Chance is a hash of a document's text or tokens: equal ones are on
                   one side, and a document is where it was when others are added
    val_tokens     for nanogpt and llmc: so many first tokens of the stream are for validation instead
    sample         for argilla and label_studio: how many kept documents, and how many dropped ones of each reason; 20
                   if not given
    settings       of the writer, as in a recipe: tokens_per_shard=…, single_file=True
    progress       called with what is done and what there is to do: tokens, or documents of text

    Of a run whose recipe has a `split`, these three take that; other formats have folders `train` and `validation`.

    The folder has its name when it is whole: until then it is a neighbour called `.NAME.part`.
    Raises InputError if the source or the format cannot be used, if the format has no use for what is given, or if
    there is something in the folder; RecipeError for wrong settings, ShardError if the shards are damaged,
    MissingExtraError if a library is not installed.
    """
    target = Path(folder)
    if format not in formats():
        if str(source) in formats():
            raise InputError(
                f"the run comes first, then the format: corpusmill export {quote(format)} {source} {quote(str(target))}"
            )
        raise InputError(
            f'there is no format "{format}" to export{did_you_mean(format, formats()) or "."} '
            f"There are: {', '.join(formats())}."
        )
    if Path(source).is_file():
        raise InputError(f"{source}: this is a file. Name the folder of a run, as in runs/NAME, or of its shards.")
    for name, value in (("val_fraction", val_fraction), ("val_tokens", val_tokens), ("sample", sample)):
        if value is not None and format not in TAKERS[name]:
            raise InputError(f"{format} takes no {name}, which is for {', '.join(TAKERS[name])}")
    if val_fraction is not None and val_tokens is not None:
        raise InputError("val_fraction and val_tokens both say what is for validation: give one of them")
    if val_fraction is not None and not 0 <= val_fraction < 1:
        raise InputError(f"val_fraction is a share from 0 to less than 1, got {val_fraction}")
    if val_tokens is not None and val_tokens < 0:
        raise InputError(f"val_tokens is a number of tokens, got {val_tokens}")
    is_split = _is_split(Path(source))
    for name, value in (("val_fraction", val_fraction), ("val_tokens", val_tokens)):
        if value is not None and is_split:
            raise InputError(f"{source}: its recipe has a split, which says what is for validation; leave out {name}")
    share = VAL_FRACTION if val_fraction is None else val_fraction
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: there is something already. Give the export a new folder.")
    writer: Any = _writer(format, settings)
    part = target.with_name(f".{target.name}.part")
    if part.exists() and any(part.iterdir()) and not (part / UNFINISHED_MARK).exists():
        raise InputError(f"{part}: this is where the export is made, and what is there is not an export's. Move it.")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    (part / UNFINISHED_MARK).touch()
    tokens: int | None
    count: int | None
    try:
        if format in REVIEW_FORMATS:
            count, tokens = write_review(Path(source), format, part, SAMPLE_SIZE if sample is None else sample), None
        elif isinstance(writer, Nanochat):
            count, tokens = writer.write(Path(source), part, share, progress, is_split), None
        elif isinstance(writer, NanoGPT | Llmc):
            kept_back = _shards(Path(source), VALIDATION) if is_split else None
            validation = Validation(share, val_tokens, kept_back)
            count, tokens = writer.write(_shards(Path(source)), part, validation, progress)
        else:
            cut_anew = bool({"tokens_per_shard", "single_file"} & set(settings))
            sides = [(name, part / name) for name in SPLITS] if is_split else [(None, part)]
            amounts = [_side(Path(source), writer, place, progress, cut_anew, side) for side, place in sides]
            count, tokens = map(_sum, zip(*amounts))
    except CorpusmillError:
        shutil.rmtree(part, ignore_errors=True)
        raise
    (part / UNFINISHED_MARK).unlink()
    names = files_in(part)
    write_sums(part)
    size = sum((part / name).stat().st_size for name in names)
    if target.exists():
        target.rmdir()
    system.replace(part, target)
    return Exported(target, format, len(names), size, count, tokens)


def _writer(format: str, settings: dict[str, Any]) -> Any:
    """The writer of a format. Raises RecipeError for a setting that it does not have."""
    if format in REVIEW_FORMATS:
        made_of: Any = None
    else:
        made_of = EXPORT_FORMATS[format] if format in EXPORT_FORMATS else write.find(format)
    parameters = [field.name for field in fields(made_of)] if made_of else []
    for name in settings:
        if name not in parameters:
            takes = f"it takes: {', '.join(parameters)}" if parameters else "it takes none"
            raise RecipeError(f'{format} has no parameter "{name}"{did_you_mean(name, parameters) or ";"} {takes}')
    return made_of(**settings) if made_of else None


def _is_split(source: Path) -> bool:
    """Whether it is a run whose recipe has a split."""
    run = RunFolder(str(source))
    if (source / INDEX).exists() or not run.exists():
        return False
    return any(entry["stage"] == SPLIT for entry in run.read(STAGES_RECORD) or ())


def _side(
    source: Path, writer: Any, folder: Path, progress: Progress, cut_anew: bool, side: str | None = None
) -> tuple[int | None, int | None]:
    """Write all documents, or one side of the recipe's split. Returns how many documents and tokens, None as in
    `Exported`."""
    folder.mkdir(exist_ok=True)
    if isinstance(writer, DocumentWriter):
        return write_texts(source, writer, folder, progress, SplitSubset(side) if side else None), None
    shards = _shards(source, side or TRAIN)
    if isinstance(writer, RowWriter):
        return None, _rows(shards, writer, folder, progress, cut_anew)
    assert isinstance(writer, TokenWriter)
    return _documents(shards, writer, folder, progress)


def _sum(amounts: Sequence[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _shards(source: Path, side: str = TRAIN) -> Shards:
    run = RunFolder(str(source))
    if (source / INDEX).exists() or not run.exists():
        return open_shards(source)
    if "shards" not in run.outputs():
        raise InputError(
            f"{source}: the run wrote no training shards. Add `shards` to what its recipe writes and run it again, "
            f"which does only that, or add the format itself there."
        )
    return open_shards(run.output_folder(output_of("shards", side)))


def _rows(shards: Shards, writer: RowWriter, folder: Path, progress: Progress, cut_anew: bool) -> int:
    """Packed rows: a file for each shard, or of `tokens_per_shard` tokens if that is asked for. Returns the tokens."""
    row = shards.index.sequence_length
    if row is None:
        raise InputError(
            f"{shards.folder}: one stream of documents without rows, and this format has rows. Add a step that packs "
            "(pack/concat) to the recipe and run it again, or export megatron, olmo, nanogpt or llmc."
        )
    if isinstance(writer, NeedsFullRows) and writer.full_rows and len(shards) % row:
        raise InputError(
            f"{shards.folder}: the last row has {len(shards) % row} tokens of {row}, and these columns need full rows. "
            "Pack with remainder: pad or drop."
        )
    step = max(1, tokens_per_file(writer) // row) * row
    sizes = [shard.tokens for shard in shards.index.shards]
    edges = [*range(0, len(shards), step), len(shards)] if cut_anew else np.cumsum([0, *sizes]).tolist()
    entries = {}
    for number, (start, stop) in enumerate(pairwise(edges)):
        files = _paths(folder, number, writer)
        facts = writer.write_rows(TokenRange(shards, start, stop), files)
        if isinstance(writer, Indexed):
            assert isinstance(facts, write.WriteFacts)
            entries[files[writer.suffixes[0]].name] = facts.entry
        shards.release()
        progress(stop, len(shards))
    if isinstance(writer, Indexed):
        for name, content in writer.index(entries).items():
            write_atomic(str(folder / name), content)
    return len(shards)


def _documents(shards: Shards, writer: TokenWriter, folder: Path, progress: Progress) -> tuple[int, int]:
    """Whole documents, in files of `tokens_per_shard` tokens. Returns how many documents and tokens."""
    count = tokens = 0

    def count_parts(parts: Iterable[tuple[int, DocumentTokens]]) -> Iterator[DocumentTokens]:
        nonlocal count, tokens
        for _, part in parts:
            yield part
            count, tokens = count + len(part.lengths), tokens + len(part.ids)
            progress(tokens, len(shards) - shards.index.padding)

    cuts = groupby(_by_cut(documents(shards), writer.tokens_per_shard), key=itemgetter(0))
    for number, (_, parts) in enumerate(cuts):
        writer.write_tokens(count_parts(parts), _paths(folder, number, writer))
    return count, tokens


def _by_cut(blocks: Iterable[DocumentRange], cut: int) -> Iterator[tuple[int, DocumentTokens]]:
    """The documents in parts that start in the same cut of `cut` tokens, each with the number of its cut."""
    start = 0  # tokens before the block
    for _, ids, lengths in blocks:
        starts = np.cumsum(lengths) - lengths
        number = (start + starts) // cut
        first = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
        for a, b in pairwise([*first.tolist(), len(lengths)]):
            end = int(starts[b]) if b < len(lengths) else len(ids)
            yield int(number[a]), DocumentTokens(ids[int(starts[a]) : end], lengths[a:b])
        start += len(ids)


def _paths(folder: Path, number: int, writer: RowWriter | TokenWriter) -> dict[str, Path]:
    return {suffix: folder / file_name(writer, number, suffix) for suffix in writer.suffixes}
