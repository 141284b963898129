"""The parts of a recipe, sources and settings, each checked on its own."""

import dataclasses
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, get_args

import pyarrow as pa

from corpusmill import execute
from corpusmill.errors import RecipeError
from corpusmill.execute.ray_cluster import checked_address
from corpusmill.read import ReadCounts, SelectsRecords, files_at, is_whole
from corpusmill.recipe.canaries import Canary
from corpusmill.recipe.names import name_of, short_name
from corpusmill.recipe.selection import Selection
from corpusmill.recipe.split import Split
from corpusmill.recipe.training_stage import TrainingStage
from corpusmill.storage import printable, selected
from corpusmill.system import refused_name
from corpusmill.tokens.sampling import share_of

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
READ_BYTES = 128 << 20  # bytes of a file that are split and read at a time
MeasureDropped = Literal["all", "first", "none"]
DroppedText = Literal["sample", "all", "none"]
Keep = Literal["all", "output"]


@dataclass(frozen=True)
class Source:
    """Where documents come from.

    reader   what understands the files: read.JsonlReader(), …
    paths    files, folders or patterns, relative to the working directory; `~/` is the home folder. One needs no list
    source   its name in the run, unique in a recipe; the reader's name if not given
    subset   of data sets of the Hugging Face hub, `hf://datasets/org/name`, and of folders laid out as these
    split    of those: "train" if not given and there is one; several as "train+validation", or with wildcards
    root     the folder that names of files, and ids with them, are relative to; the deepest that holds all paths if not
             given. Paths outside of it come after those inside
    exclude  files, folders or patterns of files that are left out
    """

    reader: Any
    paths: Sequence[str]
    source: str = ""
    subset: str = ""
    split: str = ""
    root: str = ""
    exclude: Sequence[str] = ()

    if TYPE_CHECKING:  # what is given is more than what is kept

        def __init__(
            self,
            reader: Any,
            paths: Paths,
            source: str = "",
            subset: str = "",
            split: str = "",
            root: str | os.PathLike[str] = "",
            exclude: Paths = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        check_instance(self.reader, "reader")
        paths, exclude = _several(self.paths), _several(self.exclude)
        if not paths or not all(paths):
            raise RecipeError("needs at least one path, and none of them empty")
        if not all(exclude):
            raise RecipeError("exclude: a path is empty")
        for name in ("subset", "split"):
            if getattr(self, name) and not all(map(is_whole, paths)):
                raise RecipeError(
                    f"{name} is of whole data sets of the Hugging Face hub, as in paths: hf://datasets/org/name, and "
                    f"of folders; these paths name files: {', '.join(paths)}"
                )
        if isinstance(self.reader, SelectsRecords):
            for path in filter(self.reader.is_location, paths):
                self.reader.check_location(path)
        if "\0" in self.source:
            raise RecipeError("the name of a source cannot hold a null character")
        object.__setattr__(self, "paths", tuple(home(path) for path in paths))
        object.__setattr__(self, "exclude", tuple(home(path) for path in exclude))
        object.__setattr__(self, "root", home(os.fspath(self.root)))
        object.__setattr__(self, "source", self.source or short_name(name_of(self.reader)))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The documents as they are read, before any step, to look at them: record batches with the columns of
        `corpusmill.schema.DOCUMENT`, in the order of a run. Records that cannot be read are passed over.

        Raises InputError if a path names nothing.
        """
        files = selected(files_at(self.reader, self.paths), self.root, self.exclude)
        counts = ReadCounts()
        for piece in self.reader.split(files, READ_BYTES):
            yield from self.reader.read(piece, self.source, counts)
            counts.drain()


def _several(paths: Paths) -> tuple[str, ...]:
    return tuple(os.fspath(path) for path in ((paths,) if isinstance(paths, str | os.PathLike) else paths))


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How to run; none of it changes the output but `limit` and `sample`.

    workers          processes; None: one per core. With Ray, units at a time; None: as many as its processors allow
    executor         "processes"; "ray" for the machines of a Ray cluster; "serial" for everything in this process
    address          of the Ray cluster: its head as host:port, or "local" to start one on this machine for this run
    folder           of the run and all of its files: a path, or a URL such as s3://bucket/run; None: runs/NAME
    unit_mb          megabytes of text in a unit of work, at most
    error_budget     how many records may be bad before the run stops: a share (0.01), or a count (100)
    measure_dropped  how far a dropped document is measured: "all", to the end of its pass, so that other thresholds can
                     be tried on the run; "first", up to the step that drops it, which is faster; "none", likewise, and
                     its signals are not saved. Why it is dropped is saved in any case
    dropped_text     whose text is stored of the dropped documents: "sample", a few of each unit, reason by reason and
                     at random; "all"; "none"
    keep             "output": when the run has finished, files that only a later change of it would read are removed:
                     token ids, keys, n-grams, extracted texts in batches. What one needs is made again; "all"
    store_extracted  whether texts that a step extracts (HTML, LaTeX, wikitext; of PDF, the reader) are stored as the
                     next step sees them, so that a change of a later step does not extract them again
    limit            how many documents to take of each source, the first ones, to try a recipe; None: all. One worker
                     reads a source
    sample           the share of documents to take, by a hash of their ids: "1%" or 0.01; None: all of them. All is
                     read for it. With a limit, that counts documents of the sample
    """

    workers: int | None = None
    executor: str = "processes"
    address: str | None = None
    folder: str | None = None
    unit_mb: int = 128
    error_budget: float | int = 0.01
    measure_dropped: MeasureDropped = "all"
    dropped_text: DroppedText = "sample"
    keep: Keep = "all"
    store_extracted: bool = True
    limit: int | None = None
    sample: float | str | None = None

    def __post_init__(self) -> None:
        for name, values in (("measure_dropped", MeasureDropped), ("dropped_text", DroppedText), ("keep", Keep)):
            choices = get_args(values)
            if getattr(self, name) not in choices:
                raise RecipeError(f"{name} is one of {', '.join(choices)}, got {getattr(self, name)}")
        if self.workers is not None and self.workers < 1:
            raise RecipeError(f"need workers >= 1, got {self.workers}; leave it out for one per core")
        execute.check_name(self.executor)
        if self.executor == "ray":
            checked_address(self.address)
        elif self.address is not None:
            raise RecipeError(
                f"address names a Ray cluster, and executor is {self.executor}: set executor: ray, or leave address out"
            )
        if self.unit_mb < 1:
            raise RecipeError(f"need unit_mb >= 1, got {self.unit_mb}")
        if self.error_budget < 0 or (isinstance(self.error_budget, float) and not self.error_budget <= 1):
            raise RecipeError(
                f"error_budget is a share from 0.0 to 1.0, or a whole number of records, got {self.error_budget}"
            )
        if self.limit is not None and self.limit < 1:
            raise RecipeError(f"need limit >= 1, got {self.limit}; leave it out for all documents")
        if self.sample is not None:
            object.__setattr__(self, "sample", share_of(self.sample, "sample"))
        if self.folder is not None:
            object.__setattr__(self, "folder", os.fspath(self.folder))
            if not self.folder:
                raise RecipeError("folder is empty; leave it out for runs/NAME")
            if (shown := printable(self.folder)) != self.folder:
                raise RecipeError(f"folder: {shown} is not UTF-8, and files are written only where names are")
            object.__setattr__(self, "folder", home(self.folder))

    @property
    def share(self) -> float:
        """Of the documents, that are taken."""
        return 1.0 if self.sample is None else float(self.sample)

    @property
    def limited(self) -> str:
        """In words, which documents are taken; empty for all of them."""
        part = f"a sample of {100 * self.share:.6g} % of the documents" if self.share < 1 else ""
        if self.limit is None:
            return part
        documents = f"{self.limit:,d} document{'s' * (self.limit > 1)}"
        return f"the first {documents} of each source" + (f", in {part}" if part else "")

    @property
    def limited_name(self) -> str:
        """What is added to the name of the folder of a run on some documents: "-limit-1000", "-sample-1pct"."""
        first = "" if self.limit is None else f"-limit-{self.limit}"
        return first + (f"-sample-{100 * self.share:.6g}pct" if self.share < 1 else "")


@dataclass(frozen=True)
class Written:
    """A recipe as somebody wrote it.

    text        in YAML
    file        that the text is from; "<string>" of none
    overrides   settings beside it: those of `--set`
    """

    text: str
    file: str
    overrides: tuple[str, ...] = ()


class Sections(NamedTuple):
    """The arguments of a `Recipe`, as YAML gives them."""

    name: str
    seed: int
    read: list[Source]
    steps: list[Any]
    write: list[Any]
    run: RunSettings
    selections: list[Selection | None]
    canary: list[Canary]
    stages: Sequence[TrainingStage] = ()
    split: Split | None = None


class RecipeParts(Protocol):
    """What a `Recipe` and its `Sections` have both."""

    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def read(self) -> Sequence[Source]: ...
    @property
    def steps(self) -> Sequence[Any]: ...
    @property
    def write(self) -> Sequence[Any]: ...
    @property
    def run(self) -> RunSettings: ...
    @property
    def selections(self) -> Sequence[Selection | None]: ...
    @property
    def canary(self) -> Sequence[Canary]: ...
    @property
    def stages(self) -> Sequence[TrainingStage]: ...
    @property
    def split(self) -> Split | None: ...


def home(path: str) -> str:
    """The path with `~` or `~/` at its start replaced by the home folder."""
    return str(Path.home()) + path[1:] if path == "~" or path.startswith("~/") else path


LONGEST_NAME = 200  # bytes: file systems take 255, and files of the folder may be written beside it first


def check_name(name: str) -> None:
    if len(name.encode(errors="replace")) > LONGEST_NAME:
        raise RecipeError(
            f"the name of a recipe is that of its folder, which {len(name)} characters cannot be: {name[:60]!r}…; "
            f"use at most {LONGEST_NAME} bytes"
        )
    if not name or name.startswith(".") or any(c in name for c in "/\\\0") or not name.isprintable():
        raise RecipeError(
            f"the name of a recipe is that of its folder, which {name!r} cannot be; use letters, digits, - and _"
        )
    if why := refused_name(name):
        raise RecipeError(f"the name of a recipe is that of its folder, which {name!r} cannot be: {why}")


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**64:
        raise RecipeError(f"need a seed from 0 to 2**64 - 1, got {seed}")


def same_name(source: str) -> str:
    return (
        f'another source is named "{source}"; give this one a name of its own, as in {{paths: …, source: {source}_2}}'
    )


def check_instance(value: Any, where: str) -> None:
    if isinstance(value, type):
        raise RecipeError(f"{where} is the class {value.__name__}; it must be an instance: {value.__name__}()")
    if not dataclasses.is_dataclass(value):
        if callable(value) and where.startswith("steps"):
            name = getattr(value, "__name__", "f")
            function = "a lambda;" if name == "<lambda>" else f"the function {name};"
            name = "lambda …" if name == "<lambda>" else name
            raise RecipeError(
                f"{where} is {function} say what it does: corpusmill.as_filter({name}) keeps or drops a document, "
                f"corpusmill.as_map({name}) changes its text"
            )
        raise RecipeError(f"{where} must be a frozen dataclass, got {value!r}")
    cls: Any = type(value)
    if not cls.__dataclass_params__.frozen:
        raise RecipeError(
            f"{where}: {cls.__name__} can be changed after it is made: write @dataclass(frozen=True) above its class"
        )
