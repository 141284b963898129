"""Can a recipe run, and what would a run do? Everything that is wrong is found before a document is read."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.display import table
from corpusmill.engine.drive.drops_all import FEWEST, DropsAll, DropsScript, losses
from corpusmill.engine.plan import preflight
from corpusmill.engine.plan.changes import Preview, preview
from corpusmill.engine.plan.forecast import Forecast, forecast
from corpusmill.engine.plan.inputs import SourceFiles
from corpusmill.engine.plan.look import MANY, SourceSample, spread
from corpusmill.engine.plan.plan import RunPlan
from corpusmill.engine.plan.stored_rows import stored, with_inputs
from corpusmill.errors import DocumentError
from corpusmill.execute import cpus
from corpusmill.models.unexpressed import in_words as unexpressed_in_words
from corpusmill.models.unexpressed import unexpressed
from corpusmill.ops.estimate.questions import MostAsked, most_asked
from corpusmill.read import BATCH_ROWS, ReadCounts
from corpusmill.recipe.advice import strip_html
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels, name_of, remarks
from corpusmill.recipe.override import Overrides
from corpusmill.report.figures.markup import in_words
from corpusmill.report.numbers import size
from corpusmill.steps import AsksModel, Tokenize
from corpusmill.steps.extract.blocks import Blocks
from corpusmill.steps.markup import is_markup
from corpusmill.storage import FileInfo, is_local
from corpusmill.store.facts import Facts
from corpusmill.store.run_folder import RunFolder
from corpusmill.text import warming

MIN_SAMPLED_PIECE = 1 << 20  # bytes of a piece that a sample begins with
TRIED_DOCUMENTS = 100  # documents of a source that are put through the first pass
IN_SAMPLE = " in a sample of the input"
# Of 1,497 pages of WCXB 124 have MUCH_TEXT and less than HARDLY_ANY of it taken; of 118 of these F1 is below .5, in the
# mean it is .10, with `favour: all` .48, with extract/trafilatura .50.
MUCH_TEXT = 100  # words of a page, with all its navigation
HARDLY_ANY = 0.05  # of these
HARDLY_ANY_PAGES = 0.05  # of the pages with much text
MAX_FILE_PIECES = 16  # that a file is cut into at most


@dataclass(frozen=True)
class Checked:
    """A recipe that can run, on what, and in which stages.

    recipe    with the overrides
    folder    of a run
    sources   source -> (files, bytes) that it reads
    text      source -> bytes of text in these, estimated from a sample
    read_as   source -> what was found out about its format: "fields separated by ";""
    passed_over   source -> a sentence about what is in its folders or fits its patterns and is not read
    passes    stage -> labels of the steps that documents go through in it
    only      label -> the sources of a step: "only web, wiki", "except code"
    stages    all stages, in order
    workers   processes that a run would start
    ahead     units of a run, and what of it is done already in its folder
    needs     memory and disk that a run will take, roughly
    remarks   (label, what a step says about its parameters); a warning begins with "warning: "
    tried     documents of the input that were put through the first pass: none where its code is not compiled yet
    drops_all the steps that dropped all of these that they saw
    warnings  what is probably wrong, judged by a sample of the input where it is local
    questions the most that steps ask of language models
    """

    recipe: Recipe
    folder: str
    sources: dict[str, tuple[int, int]]
    passes: dict[str, tuple[str, ...]]
    only: dict[str, str]
    stages: tuple[str, ...]
    workers: int
    ahead: Preview
    needs: Forecast
    text: dict[str, int]
    read_as: dict[str, str]
    passed_over: dict[str, str]
    remarks: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    tried: int = 0
    drops_all: tuple[DropsAll, ...] = ()
    questions: tuple[MostAsked, ...] = ()

    def __repr__(self) -> str:
        counted = [*self._counts(), (len(self.stages), "stage"), (len(self.warnings), "warning")]
        return f"<Checked {self.recipe.name}: {', '.join(_counted(*part) for part in counted if part[0])}>"

    def _repr_html_(self) -> str:
        files, size = (_counted(*part) for part in self._counts())
        rows = [["read", f"{', '.join(self.sources)}: {files}, {size}"]]
        rows += [[stage, " → ".join(steps) or "read only, no steps"] for stage, steps in self.passes.items()]
        rows += [["stages", " → ".join(self.stages)], *(["warning", warning] for warning in self.warnings)]
        return table(f"{self.recipe.name}: can run", ["", ""], rows)

    def _counts(self) -> list[tuple[int, str]]:
        files, size = map(sum, zip(*self.sources.values()))
        return [(files, "file"), (size, "byte")]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def check(
    recipe: Recipe | str | os.PathLike[str],
    *,
    inputs: Any = None,
    overrides: Overrides = (),
    folder: str | os.PathLike[str] | None = None,
    workers: int | None = None,
) -> Checked:
    """Plan a recipe without running it.

    recipe, inputs, overrides, folder, workers   as `run` takes them; documents in memory are written into the folder

    Looks into a few files of each source, opens models, tokenizers and word lists, checks the writers' libraries and
    the folder, and gives steps of your own the first documents. Raises RecipeError, InputError, AssetError or
    MissingExtraError with all that is wrong, in `problems` one by one.
    """
    named_folder = None if folder is None else RunFolder.at(folder)
    loaded = preflight.load(recipe, overrides, named_folder)
    recipe = with_inputs(loaded, inputs)
    run_folder = named_folder or RunFolder(recipe.folder)
    recipe = stored(recipe, run_folder)
    ready = preflight.ready(recipe, run_folder, thorough=True)
    plan = ready.plan
    workers = workers or recipe.run.workers or cpus.usable()
    ahead = preview(run_folder, plan)
    needs = forecast(plan, min(workers, ahead.units), ahead.text)
    documents, lost, unread = try_first_pass(recipe, plan, ready.seen)
    names, markup = [source.source for source in recipe.read], warnings(recipe, plan.inputs, ready.seen)
    markup += _unexpressed(recipe, ready.seen)
    markup += _server_problems(recipe)
    drop_warnings = [loss.in_words(context=IN_SAMPLE) for loss in lost]
    return Checked(
        recipe,
        run_folder.place,
        {name: (len(source.files), source.size) for name, source in zip(names, plan.inputs)},
        {info.stage: tuple(info.labels) for info in plan.passes},
        {label: str(selection) for label, selection in zip(labels(recipe.steps), recipe.selections) if selection},
        tuple(stage.name for stage in plan.stages),
        workers,
        ahead,
        needs,
        {name: int(source.text_size) for name, source in zip(names, plan.inputs)},
        dict(ready.read_as),
        dict(ready.passed_over),
        tuple(remarks(recipe.steps)),
        (*drop_warnings, *unread, *ready.warnings, *markup, *_disk_warnings(run_folder, needs, ahead)),
        documents,
        tuple(loss for loss in lost if isinstance(loss, DropsAll)),
        tuple(most_asked(recipe, [source.text_size for source in plan.inputs], ready.seen)),
    )


def _unexpressed(recipe: Recipe, samples: Sequence[SourceSample]) -> list[str]:
    """A warning if the tokenizer cannot express all texts of a sample, as they are before the first step."""
    batches = [batch["text"] for sample in samples for batch in sample.batches]
    texts = pc.drop_null(pa.concat_arrays([*batches, pa.array([], pa.large_string())]))
    sentences = []
    for step in recipe.steps:
        if isinstance(step, Tokenize) and len(texts) and not step.open().definition.expresses_all:
            measured = unexpressed(step.open(), texts, *step.encode(texts))
            if measured and (words := unexpressed_in_words(measured)):
                sentences.append(f"{name_of(step)}: in a sample of the input, {words}")
    return sentences


def _server_problems(recipe: Recipe) -> list[str]:
    """A warning for each server of a model that does not answer, or has no such model."""
    servers = {step.server: name_of(step) for step in recipe.steps if isinstance(step, AsksModel)}
    if not servers:
        return []
    from corpusmill.inference.reach import problem

    return [f"{name}: {sentence}" for server, name in servers.items() if (sentence := problem(server))]


def _disk_warnings(folder: RunFolder, needs: Forecast, ahead: Preview) -> list[str]:
    """A warning if the disk of a run that has not begun cannot hold it."""
    if not folder.is_local or ahead.done:
        return []
    path = folder.path.absolute()
    free = shutil.disk_usage(next(parent for parent in (path, *path.parents) if parent.exists())).free
    if free >= needs.disk[0]:
        return []
    return [f"{folder.place}: {size(free)} are free there, and a run will take {size(needs.disk[0])} at least"]


def warnings(recipe: Recipe, inputs: Sequence[SourceFiles], samples: Sequence[SourceSample]) -> list[str]:
    """A sentence for each source whose texts hold HTML that no step strips, by a sample of its documents.

    samples   the first documents of each source: all that is looked at where there are many sources
    """
    counted = []
    for source, source_files, first in zip(recipe.read, inputs, samples):
        if strip_html(recipe, [source.source]):
            batches = sample(source.reader, source.source, source_files.files) if len(recipe.read) <= MANY else []
            texts = [batch["text"] for batch in batches or first.batches]
            values = pc.drop_null(pa.concat_arrays([*texts, pa.array([], pa.large_string())]))
            tagged = values.filter(pc.match_substring(values, "<"))  # or a sample of plain text would load the kernels
            markup = pc.sum(is_markup(tagged)).as_py() or 0 if len(tagged) else 0
            counted.append((source.source, len(values), markup))
    return in_words(recipe, counted, "before the first step, in a sample of the input")


def try_first_pass(
    recipe: Recipe, plan: RunPlan, samples: Sequence[SourceSample]
) -> tuple[int, list[DropsAll | DropsScript], list[str]]:
    """How many documents of the input were put through the first pass, the steps of it that drop all they see, or
    nearly all of a script, and a sentence for each source whose pages are hardly read.

    None are where its kernels are not compiled, as `check` does not wait for minutes; nor of fewer than say anything.
    """
    work = plan.first_pass
    if not work.chain.labels or not warming.is_warm(warming.imported_kernels()):
        return 0, [], []
    tried_batches: list[pa.RecordBatch] = []
    for source, source_files, first in zip(recipe.read, plan.inputs, samples):
        batches = first.batches
        counts = partial(work.own_columns.new_counts, source.reader)
        if len(recipe.read) <= MANY or work.own_columns.encoded:
            batches = sample(source.reader, source.source, source_files.files, TRIED_DOCUMENTS, counts) or batches
        tried_batches += [batch.slice(0, -(-TRIED_DOCUMENTS // len(batches))) for batch in batches]
    documents = sum(map(len, tried_batches))
    if documents < FEWEST:
        return 0, [], []
    facts: Facts = {}
    for batch in tried_batches:
        work.try_on(batch, facts)
    return documents, losses(plan.passes[0].labels, facts), hardly_read(recipe, tried_batches)


def hardly_read(recipe: Recipe, batches: Sequence[pa.RecordBatch]) -> list[str]:
    """A sentence for each source of whose pages extract/blocks takes hardly any text where there is much, by these
    documents."""
    sentences = []
    for step in recipe.steps:
        if not isinstance(step, Blocks) or step.favour == "all":
            continue
        counted: dict[str, list[bool]] = {}  # source -> of its pages with much text, whether hardly any is taken
        everything = replace(step, favour="all", title=False)
        for batch in batches:
            for source, raw, charset in zip(*(batch[name].to_pylist() for name in ("source", "raw", "charset"))):
                try:
                    words = len(everything.page_text(raw, charset).split()) if raw else 0
                    if words >= MUCH_TEXT:
                        taken = len(step.page_text(raw, charset).split())
                        counted.setdefault(source, []).append(taken < HARDLY_ANY * words)
                except DocumentError:
                    continue
        sentences += [
            f"{name_of(step)} takes hardly any text from {sum(few)} of {len(few)} pages of source {source}{IN_SAMPLE}: "
            f"less than {HARDLY_ANY:.0%} of their words. Of lists of links, forums and shops that is too little; "
            "`favour: all` takes everything, extract/trafilatura more"
            for source, few in counted.items()
            if len(few) >= FEWEST and sum(few) >= HARDLY_ANY_PAGES * len(few)
        ]
    return sentences


def sample(
    reader: Any,
    source: str,
    files: Sequence[FileInfo],
    rows: int = BATCH_ROWS,
    new_counts: Callable[[], ReadCounts] = ReadCounts,
) -> list[pa.RecordBatch]:
    """The first batch of each of a few pieces: none of remote files.

    rows         of a batch, at most
    new_counts   what the reader is given for each piece
    """
    local = spread([file for file in files if file.size and is_local(file.path)])
    cut = [reader.split([file], max(MIN_SAMPLED_PIECE, file.size // MAX_FILE_PIECES)) for file in local]
    pieces = [piece for pieces in cut for piece in spread(pieces)]
    batches = [next(iter(reader.read(piece, source, replace(new_counts(), batch_rows=rows))), None) for piece in pieces]
    return [batch for batch in batches if batch is not None]
