"""The folder that is pushed: which outputs of a run are in it, and under which names."""

import io
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.errors import AssetError, InputError, RecipeError, did_you_mean
from corpusmill.export import export
from corpusmill.recipe.names import labels
from corpusmill.report.tables import RunTables
from corpusmill.shards.layout import SPLITS, TRAIN, VALIDATION, output_of
from corpusmill.storage import TEMPORARY
from corpusmill.store.output import empty_hub, will_push
from corpusmill.store.run_folder import OUTPUT, RunFolder
from corpusmill.write.jsonl import JsonlWriter

DATA_FOLDER = "data"  # the folder of the default configuration
CONVERTED_FOLDER = f"{TEMPORARY}converted"  # a folder of it
PARQUET, JSON_LINES = "application/x-parquet", "application/jsonlines"  # media types, as Croissant names them


@dataclass(frozen=True)
class DatasetConfig:
    """A configuration of the data set: `load_dataset(repo, name)`.

    output   of the run, by name
    pattern  its files in the repository, as the card's metadata names them
    columns  name -> type, as Arrow names it
    kind     its media type
    split    one side of the recipe's split: a configuration of two has two of these, that for training first
    """

    name: str
    output: str
    files: int
    rows: int
    bytes: int
    columns: dict[str, str]
    pattern: str
    kind: str = PARQUET
    split: str = TRAIN

    @property
    def key(self) -> str:
        """Of its files, where each split needs a name of its own."""
        return output_of(self.name, self.split)

    @property
    def has_text(self) -> bool:
        return "input_ids" not in self.columns


def chosen_outputs(run: RunFolder, outputs: Sequence[str]) -> list[str]:
    """The outputs of a run to push, those with text first. Raises InputError if there are none."""
    available = whole_outputs(run)
    for name in outputs:
        if name not in available:
            raise InputError(
                f'{run.place}: the run has no output "{name}"{did_you_mean(name, available) or "."} It has: '
                f"{', '.join(available) or 'none'}."
            )
    suffixes = {name: _suffixes(run.output_folder(name)) for name in outputs or available}
    tables = sorted((name for name, ends in suffixes.items() if ends == {".parquet"}), key=_texts_first)
    lines = [name for name, ends in suffixes.items() if _is_lines(name)]
    if outputs and (no := [name for name in outputs if name not in (*tables, *lines)]):
        raise InputError(f"{run.place}: {no[0]} is neither Parquet nor JSON Lines, and the Hub shows no other files.")
    if outputs:
        return [*lines, *tables]
    if tables or lines:
        texts = [name for name in tables if not _texts_first(name)[0]]
        return [*([] if texts else lines[:1]), *tables]  # the same texts are in JSON Lines, if they are in Parquet
    raise InputError(
        f"{run.place}: the run wrote {', '.join(available) or 'nothing'}, and neither Parquet nor JSON Lines. Add a "
        "line to `write:` in its recipe, `- parquet` for the text of the kept documents or `- parquet_tokens` for rows "
        "of token ids, and run it again, which does only that. Or write the text without a run and send it without a "
        f"card: `corpusmill export {quote(run.place)} parquet FOLDER`, then `hf upload`."
    )


def whole_outputs(run: RunFolder) -> list[str]:
    """The outputs of a run by the names of their writers: one side of a split is a part of one."""
    names = run.outputs()
    parts = {output_of(name, VALIDATION) for name in names}
    return [name for name in names if name not in parts]


def sides_of(run: RunFolder, output: str) -> list[tuple[str, str]]:
    """(split, folder of output) of all that a writer has written."""
    sides = [(split, output_of(output, split)) for split in SPLITS]
    return [(split, name) for split, name in sides if split == TRAIN or name in run.outputs()]


def _suffixes(folder: Path) -> set[str]:
    return {path.suffix for path in folder.iterdir() if not path.name.startswith((".", "_"))}


def _texts_first(name: str) -> tuple[bool, str]:
    return not name.startswith("parquet") or name.startswith("parquet_tokens"), name


def _is_lines(name: str) -> bool:
    return name.partition("_")[0] == "jsonl"


def lay_out(
    run: RunFolder, tables: RunTables, folder: Path, outputs: Sequence[str], progress: Callable[[str], None]
) -> list[DatasetConfig]:
    """Make the folder anew, with the files of these outputs; the first is the default configuration. Raises
    RefusedFolder if it has files that no earlier push has put there."""
    empty_hub(run)
    pushed: list[str] = []
    configs = []
    for number, name in enumerate(outputs):
        subfolder = folder / (DATA_FOLDER if number == 0 else name)
        subfolder.mkdir(parents=True, exist_ok=True)
        sides = sides_of(run, name)
        converted = folder / CONVERTED_FOLDER
        if _is_lines(name):
            progress(f"converting {name} to Parquet …")
            shutil.rmtree(converted, ignore_errors=True)  # of a push that was killed
            export(run.path, "parquet", converted, **_as_parquet(tables, name))
        for split, output in sides:
            read = run.output_folder(output)
            if _is_lines(name):
                read = converted / split if len(sides) > 1 else converted
            files = sorted(read.glob("*.parquet"))
            rows = size = 0
            names = [f"{subfolder.name}/{split}-{part:05d}-of-{len(files):05d}.parquet" for part in range(len(files))]
            pushed += names
            will_push(run, pushed)
            for path, target in zip(files, names):
                rows, size = rows + pq.read_metadata(path).num_rows, size + path.stat().st_size
                _link(path, folder / target)
            config_name, pattern = "default" if number == 0 else name, f"{subfolder.name}/{split}-*"
            columns = _columns(files)
            configs.append(DatasetConfig(config_name, name, len(files), rows, size, columns, pattern, split=split))
        shutil.rmtree(folder / CONVERTED_FOLDER, ignore_errors=True)
    return configs


def as_written(run: RunFolder, tables: RunTables) -> list[DatasetConfig]:
    """The outputs of a run that others can load as they are, Parquet and JSON Lines, where they are in its folder.
    Those with text come first."""
    configs = []
    outputs = [
        (whole, *side) for whole in sorted(whole_outputs(run), key=_texts_first) for side in sides_of(run, whole)
    ]
    for name, split, output in outputs:
        folder = run.output_folder(output)
        is_lines = _is_lines(name)
        if not is_lines and _suffixes(folder) != {".parquet"}:
            continue
        files = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
        stage = tables.files.stages.get(output)
        rows = next((int(output.rows.sum()) for output in stage.outputs.values()), 0) if stage else 0
        size = sum(path.stat().st_size for path in files)
        ends = "".join(files[0].suffixes[-2:] if is_lines else [".parquet"]) if files else ""
        pattern = f"{OUTPUT}/{output}/*{ends}"
        columns = _columns_of_lines(files) if is_lines else _columns(files)
        kind = JSON_LINES if is_lines else PARQUET
        configs.append(DatasetConfig(name, name, len(files), rows, size, columns, pattern, kind, split))
    return configs


def _columns(files: Sequence[Path]) -> dict[str, str]:
    if not files:
        return {}
    return {field.name: str(field.type).replace("element: ", "") for field in pq.read_schema(files[0])}


def _columns_of_lines(files: Sequence[Path]) -> dict[str, str]:
    """From the first record."""
    kinds = {str: "string", bool: "bool", int: "int64", float: "double"}
    for path in files:
        with pa.input_stream(str(path)) as stream:  # decompresses, by the file's name
            first = io.BufferedReader(stream).readline()
        if first.strip():
            return {name: kinds.get(type(value), "string") for name, value in orjson.loads(first).items()}
    return {}


def _as_parquet(tables: RunTables, output: str) -> dict[str, Any]:
    """What of a writer of JSON Lines a writer of Parquet takes, too: nothing is published that it left out."""
    try:
        recipe = tables.files.recipe
    except (RecipeError, AssetError) as error:
        raise InputError(
            f"{tables.folder}: to convert {output} the steps of the recipe are needed, and they cannot be made here: "
            f"{error}"
        ) from error
    writer = dict(zip(labels(recipe.write), recipe.write)).get(output)
    if not isinstance(writer, JsonlWriter):
        raise InputError(f"{tables.folder}: {output} cannot be converted to Parquet; add `parquet` to `write:`.")
    return {name: getattr(writer, name) for name in ("columns", "signals", "mb_per_file", "single_file")}


def _link(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(path, target)
