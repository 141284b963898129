"""From a recipe to the stages that carry it out.

Neighbouring steps that see a batch are fused into one pass, unless one wants a pass of its own. Corpus steps that
follow each other take their keys from the pass before them, one after the other, and the next pass brings their
verdicts together with the documents:

    extract   read, steps up to the extraction of text: only where there is one. Units of input, see `inputs`
    pass-1    the steps that follow, keys; without `extract` it reads, and has units of input
    LABEL-…   the stages of each corpus step, LABEL-verdicts among them
    pass-2    documents and verdicts, steps
    split     which documents are for validation, where the recipe splits
    tokens    token ids of the kept documents
    split-…   which of the stream of tokens are of each side
    epochs    the same of those that a mix draws more than once, time after time
    WRITER    what each writer writes: packed rows, one unit per training shard, or documents; of a split, this is for
              training, and WRITER-validation the rest
    FOLDER-…  `ids`, `epochs` and `documents` of a folder that stages of training read, and the folder itself
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from corpusmill.engine.plan.earlier_runs import earlier_keys
from corpusmill.engine.plan.identity import keys_description
from corpusmill.engine.plan.inputs import SourceFiles, find_inputs, plan_inputs
from corpusmill.engine.plan.own_columns import own_types, with_own_columns
from corpusmill.engine.plan.plan import PassInfo, RunPlan
from corpusmill.engine.work.canaries import planted_by, spread
from corpusmill.engine.work.documents import WriteDocuments, wanted_signals, wants_tokens
from corpusmill.engine.work.extraction import ExtractedDocuments, ExtractTexts
from corpusmill.engine.work.limited import Limited
from corpusmill.engine.work.pass_documents import PassDocuments
from corpusmill.engine.work.pass_parts import KeyRequest, VerdictSource
from corpusmill.engine.work.pass_results import EXTRACT, UnitOfPass
from corpusmill.engine.work.passes import Pass
from corpusmill.engine.work.shards import PackRows, WriteTokens
from corpusmill.engine.work.sinks import (
    CanaryHosts,
    DedupKeys,
    Documents,
    DroppedDocuments,
    InputTexts,
    LastTexts,
    OutputTexts,
    ReportFacts,
    SignalRows,
    Sink,
    StepFlow,
)
from corpusmill.engine.work.sources import (
    InputFiles,
    MadeOfStored,
    OwnSchema,
    PassSource,
    StoredDocuments,
    TextsInPlace,
)
from corpusmill.engine.work.split import SPLIT, SplitDocuments, SplitSubset
from corpusmill.engine.work.step_chain import StepChain
from corpusmill.engine.work.streams import ChooseDocuments, TokenStream
from corpusmill.engine.work.token_counts import EncodedTokens, TokenCounts, Tokens
from corpusmill.engine.work.token_ids import special_tokens
from corpusmill.engine.work.tokens import EPOCHS, CountTokens, EncodeDocuments, RepeatDocuments
from corpusmill.errors import InputError, RecipeError
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels, source_names
from corpusmill.recipe.order import check_order, finds_clusters
from corpusmill.recipe.selection import applied
from corpusmill.recipe.stages import new_folders
from corpusmill.shards.layout import SPLITS, TRAIN, output_of
from corpusmill.steps import (
    CorpusStep,
    ExtractsText,
    Filter,
    MakesDocuments,
    OwnPass,
    Pack,
    Tokenize,
    Transform,
    keeps_parts,
)
from corpusmill.steps.keys import EarlierKeys, KeyStage
from corpusmill.store.unit_io import Upstream
from corpusmill.store.units import Resources
from corpusmill.store.work import PlannedUnit, Stage
from corpusmill.tokens.breaks import SplitAt
from corpusmill.write import DocumentWriter, RowWriter, TokenWriter

PARTITION = 2 << 30  # bytes of text for each partition of a band: about a million records
RECORDS = 1_000_000  # documents of earlier runs for each
Named = tuple[str, Any]  # label and step


def lower(recipe: Recipe) -> RunPlan:
    """The plan of a recipe. Looks up which input files there are, and looks into a few of them.

    Raises InputError if a source has no files, RecipeError if a step cannot work with what comes before it.
    """
    check_order(recipe)
    inputs = find_inputs(recipe.read)
    if not any(source.size for source in inputs):
        names = (file.path for source in inputs for file in source.files)
        raise InputError("all input files are empty: " + ", ".join(names)[:500])
    return lower_inputs(recipe, inputs)


def lower_inputs(recipe: Recipe, inputs: tuple[SourceFiles, ...]) -> RunPlan:
    """The plan of a recipe on these files."""
    labelled = list(zip(labels(recipe.steps), recipe.steps))
    types = own_types(recipe.read, inputs)
    brought = OwnSchema.from_schema(types.schema if types else None)
    tokenize = next((step for step in recipe.steps if isinstance(step, Tokenize)), None)
    passes = list(_passes([(label, step) for label, step in labelled if not isinstance(step, Tokenize | Pack)]))
    in_place = _texts_in_place(passes)
    if recipe.canary:  # a pass of their own, which writes all texts
        passes.append(([], []))
        in_place = False
    pack = next((step for step in recipe.steps if isinstance(step, Pack)), None)
    encodes = tokenize is not None and (bool(recipe.stages) or any(map(_takes_tokens, recipe.write)))
    stages: list[Stage] = []
    infos: list[PassInfo] = []
    judged: list[VerdictSource] = []  # the corpus steps before the present pass
    text_size, only = sum(source.text_size for source in inputs), _only(recipe)
    earlier = {label: earlier_keys(step, label) for label, step in labelled if isinstance(step, CorpusStep)}
    for number, (batch_steps, corpus_steps) in enumerate(passes, 1):
        name = f"pass-{number}"
        requests = [
            KeyRequest(
                label,
                step,
                partitions_for(text_size, earlier[label]) * step.keys_per_document,
                keys_description(step),
                only.get(label),
            )
            for label, step in corpus_steps
        ]
        is_last = number == len(passes)
        before = infos[-1].stage if infos else ""
        source: PassSource = InputFiles(
            tuple((source.source, source.reader) for source in recipe.read), _limited(recipe), brought
        )
        if infos:
            source = TextsInPlace(before) if in_place and is_last else StoredDocuments(before)
            if batch_steps and _makes(batch_steps[0][1]):
                label, step = batch_steps[0]
                source = MadeOfStored(before, label, step.source, only.get(label))
        # A pass that cannot drop a document does the same work whatever the settings are.
        can_drop = bool(judged or batch_steps)
        batch_only = tuple((label, only[label]) for label, _ in batch_steps if label in only)
        how_far = recipe.run.measure_dropped if can_drop else "all"
        begun = 0 if infos else _extracting(recipe, batch_steps, corpus_steps)
        chain = StepChain(
            tuple(judged), tuple(batch_steps[begun or 0 :]), batch_only, how_far, tuple(batch_steps[: begun or 0])
        )
        writes_last = number == len(passes) - in_place
        tokens: Tokens = TokenCounts(tokenize)
        if tokenize is not None and encodes and writes_last:
            row_length = pack.length if pack and keeps_parts(tokenize) else None
            tokens = EncodedTokens(tokenize, pack.split_at if pack else None, row_length)
        plants_next = bool(recipe.canary) and number == len(passes) - 1
        sinks: list[Sink | None] = [
            StepFlow(with_tokens=tokenize is not None),
            None if infos else InputTexts(),
            OutputTexts() if is_last else None,
            ReportFacts(),
            LastTexts() if writes_last else Documents(),
            SignalRows(),
            DroppedDocuments(recipe.run.dropped_text if can_drop else "sample"),
            CanaryHosts() if plants_next else None,
            *map(DedupKeys, requests),
        ]
        units = partial(_first_units, recipe, inputs)
        if isinstance(source, InputFiles) and begun is not None:
            extract = ExtractTexts(source, chain.begun_chain)
            stages.append(Stage(EXTRACT, extract, (), units, resources(step for _, step in chain.begun)))
            source = ExtractedDocuments(brought)
        work = Pass(source, chain, tokens, tuple(sink for sink in sinks if sink is not None))
        if infos and is_last and recipe.canary:
            spreads = partial(spread, before=before, planted=planted_by(recipe), seed=recipe.seed)
            stages.append(Stage(name, work, (before,), spreads))
        elif infos:
            stages.append(_later_pass(name, before, work))
        elif isinstance(source, ExtractedDocuments):
            stages.append(_behind_extraction(name, work, source))
        else:
            stages.append(Stage(name, work, (), units, resources(step for _, step in batch_steps)))
        own = (*(judge.label for judge in judged), *(label for label, _ in batch_steps))
        infos.append(PassInfo(name, own, {label: only[label] for label in own if label in only}))
        judged = []
        for request in requests:
            keys = KeyStage(
                name,
                request.label,
                request.partitions_per_band,
                tuple(judge.stage for judge in judged),
                earlier[request.label],
                tuple(source_names(recipe.read, recipe.steps)),
                special_tokens(tokenize) if tokenize and draws(request.step) else 1,
            )
            stages += request.step.stages(keys)
            judged.append(VerdictSource(request.label, request.step, f"{request.label}-verdicts", request.only))
    mix = next((label for label, step in labelled if draws(step)), None)
    names = tuple(info.stage for info in infos)
    documents = PassDocuments(names[-1], names[-2] if in_place else names[-1])
    if types:
        counts = (*(("token_count",) if tokenize else ()), *(("copies",) if mix else ()))
        recipe = replace(recipe, write=[with_own_columns(writer, types, counts) for writer in recipe.write])
    stages += _outputs(recipe, names, documents, tokenize, mix)
    _check_names(recipe, stages)
    return RunPlan(recipe, tuple(stages), tuple(infos), inputs)


def _check_names(recipe: Recipe, stages: Sequence[Stage]) -> None:
    """Raises RecipeError if a stage of training has the name of what a run makes."""
    names: set[str] = set()
    for stage in stages:
        if stage.name in names:
            raise RecipeError(f'"{stage.name}" is what a part of the run is called; rename the stage of training')
        names.add(stage.name)


def _limited(recipe: Recipe) -> Limited | None:
    run = recipe.run
    return Limited(run.limit, run.share, recipe.seed) if run.limited else None


def _only(recipe: Recipe) -> dict[str, tuple[str, ...]]:
    """label -> sources, of the steps that are for some sources only."""
    names = source_names(recipe.read, recipe.steps)
    chosen = ((label, applied(selection, names)) for label, selection in zip(labels(recipe.steps), recipe.selections))
    made = {label: (step.source,) for label, step in zip(labels(recipe.steps), recipe.steps) if _makes(step)}
    # A step judges what it has made, too.
    return {
        label: tuple(dict.fromkeys((*sources, *made.get(label, ()))))
        for label, sources in chosen
        if sources is not None
    }


def _passes(steps: list[Named]) -> Iterator[tuple[list[Named], list[Named]]]:
    """The steps of each pass that see a batch, and the corpus steps that follow it.

    Corpus steps have their keys from one pass, up to the first that changes texts: what is cut must be cut first; and
    up to one whose keys are made of the verdicts of another, as of the number of copies. A step that wants a pass of
    its own begins one: reading, and documents that verdicts drop, are left to the one before.
    """
    begun = True  # the pass has something to do before its steps
    while True:
        batch: list[Named] = []
        while steps and not isinstance(steps[0][1], CorpusStep) and not _begins_pass(steps[0][1], batch, begun):
            batch.append(steps.pop(0))
        corpus: list[Named] = []
        while steps and isinstance(steps[0][1], CorpusStep) and not _judges_by(steps[0][1], corpus):
            corpus.append(steps.pop(0))
            if corpus[-1][1].cuts:
                break
        yield batch, corpus
        if not corpus and not steps:
            return
        begun = bool(corpus)


def _judges_by(step: CorpusStep, before: Sequence[Named]) -> bool:
    """Whether a corpus step needs a signal that one of these steps leaves."""
    return any(need.partition(".")[0] == label for need in step.needs for label, _ in before)


def _begins_pass(step: Any, batch: Sequence[Named], begun: bool) -> bool:
    """Whether a step begins a pass, behind these steps of the one before."""
    if own_pass(step) is None or (not batch and not begun):
        return False
    if _makes(step):
        return True
    joins = bool(batch) and own_pass(batch[0][1]) is not None
    return not joins or any(isinstance(before, Transform | Filter) for _, before in batch)


def _makes(step: Any) -> bool:
    """Whether a step makes documents: it is the first of its pass."""
    return isinstance(step, MakesDocuments)


def own_pass(step: Any) -> Resources | None:
    """What a step needs that wants a pass of its own; None of others."""
    return step.own_pass if isinstance(step, OwnPass) else None


def _texts_in_place(passes: list[tuple[list[Named], list[Named]]]) -> bool:
    """Whether the last pass leaves all texts as the pass before wrote them."""
    if len(passes) < 2:
        return False
    (_, judged), (steps, _) = passes[-2:]
    return not any(step.cuts for _, step in judged) and not any(
        isinstance(step, Transform) or _makes(step) for _, step in steps
    )


def partitions_for(text_size: float, earlier: EarlierKeys) -> int:
    """Partitions of each band of keys, for so many bytes of text and what earlier runs kept: a power of two."""
    documents = sum(file.rows for file in earlier.files)
    return 1 << int(text_size / PARTITION + documents / RECORDS).bit_length()


def _takes_tokens(writer: Any) -> bool:
    return wants_tokens(writer) if isinstance(writer, DocumentWriter) else True


def draws(step: Any) -> bool:
    """Whether a step says how often documents are drawn. No step after it drops or changes any."""
    return isinstance(step, CorpusStep) and "copies" in step.verdict.names


def _first_units(recipe: Recipe, inputs: tuple[SourceFiles, ...], upstream: Upstream) -> Iterator[PlannedUnit]:
    return plan_inputs(recipe.read, inputs, recipe.run.unit_mb, whole_sources=recipe.run.limit is not None)


def _extracting(recipe: Recipe, steps: Sequence[Named], corpus_steps: Sequence[Named]) -> int | None:
    """How many steps of the first pass, from the first on, are for the stage that extracts texts; None: there is none.

    There is none where nothing extracts texts, nor where nothing follows that may change without them.
    """
    if not recipe.run.store_extracted:
        return None
    numbers = [number for number, (_, step) in enumerate(steps, 1) if _extracts(step)]
    if not numbers and not any(_extracts(source.reader) for source in recipe.read):
        return None
    count = max(numbers, default=0)
    return count if count < len(steps) or corpus_steps else None


def _extracts(part: Any) -> bool:
    return isinstance(part, ExtractsText) and part.extracts


def _behind_extraction(name: str, work: Pass, source: ExtractedDocuments) -> Stage:
    """The first pass, a unit for each of the stage that extracts texts."""

    def units(upstream: Upstream) -> Iterator[PlannedUnit]:
        for number in range(len(upstream.results(source.stage))):
            yield PlannedUnit(UnitOfPass(number), source.content(upstream, number))

    return Stage(name, work, (source.stage,), units, resources(step for _, step in work.chain.steps))


def _later_pass(name: str, before: str, work: Pass) -> Stage:
    """Each file of documents with the verdicts on them: of a unit for some neighbouring files, or for this one."""
    judged = work.chain.judged
    verdicts = tuple(judge.stage for judge in judged)

    def units(upstream: Upstream) -> Iterator[PlannedUnit]:
        contents = [_verdicts_content(upstream, judge) for judge in judged]
        docs = upstream.results(before)["docs"]
        for number in range(len(docs)):
            yield PlannedUnit(UnitOfPass(number), (docs.checksum(number), *(content(number) for content in contents)))

    return Stage(name, work, (before, *verdicts), units, resources(step for _, step in work.chain.steps))


def resources(steps: Iterable[Any]) -> Resources:
    """What a unit of a pass with these steps needs."""
    needs = [own for step in steps if (own := own_pass(step)) is not None]
    if not needs:
        return Resources()
    return Resources(
        cpus=max(own.cpus for own in needs),
        accelerators=max(own.accelerators for own in needs),
        workers=min((own.workers for own in needs if own.workers is not None), default=None),
        keeps=any(own.keeps for own in needs),
    )


def _verdicts_content(upstream: Upstream, judge: VerdictSource) -> Callable[[int], str]:
    """What the verdicts on each unit hold."""
    results = upstream.results(judge.stage)
    if "slices" in results.outputs:
        arrays = [upstream.arrays(path)["digests"].copy() for path in results["slices"].paths.to_pylist()]
        digests = np.concatenate(arrays)
        return lambda unit: bytes(digests[unit]).hex()
    names = ("verdicts", "cuts") if judge.step.cuts else ("verdicts",)
    return lambda unit: ",".join(results[name].checksum(unit) for name in names)


def _outputs(
    recipe: Recipe, passes: tuple[str, ...], last: PassDocuments, tokenize: Tokenize | None, mix: str | None
) -> Iterator[Stage]:
    """The stages of the writers. `mix` is the label of the step that says how often documents are drawn."""
    writers = dict(zip(labels(recipe.write), recipe.write))
    copies = f"{mix}.copies" if mix else None
    texts: list[Stage] = []
    with_tokens: list[Stage] = []
    sides: tuple[SplitSubset | None, ...] = (None,)
    if recipe.split:
        sides = tuple(map(SplitSubset, SPLITS))
        cluster = _cluster_signal(recipe)
        split = SplitDocuments(recipe.split, recipe.seed, last, cluster, passes if cluster else ())
        yield Stage(SPLIT, split, split.after, split.units)
    for name, writer in writers.items():
        if isinstance(writer, DocumentWriter):
            for side in sides:
                documents = WriteDocuments(writer, last, copies, passes if wanted_signals(writer) else (), side)
                stage = Stage(_output(name, side), documents, documents.after, documents.units)
                (with_tokens if wants_tokens(writer) else texts).append(stage)
    yield from texts
    shards = {name: writer for name, writer in writers.items() if not isinstance(writer, DocumentWriter)}
    if tokenize is None or not (shards or with_tokens or recipe.stages):
        return
    pack = next((step for step in recipe.steps if isinstance(step, Pack)), None)
    tokens = CountTokens(tokenize, last)
    yield Stage("tokens", tokens, last.after, tokens.units)
    yield from with_tokens
    if not (shards or recipe.stages):
        return
    stream, repeats = _stream(last, "tokens", last.texts, mix, EPOCHS)
    yield from repeats
    streams: dict[SplitSubset | None, TokenStream] = {None: stream}
    for side in sides if recipe.split else ():
        assert side
        whole = stream if side.is_repeated else TokenStream(last, "tokens", last.texts)
        choose = ChooseDocuments(whole, None, (), (), copies if side.is_repeated else None, side)
        name = f"{SPLIT}-{side.name}"
        yield Stage(name, choose, choose.after, choose.units)
        streams[side] = replace(whole, chosen=name)
    for name, writer in shards.items():
        for side in sides:
            own = streams[side]
            work: WriteTokens | PackRows
            if isinstance(writer, TokenWriter):
                work = WriteTokens(writer, own)
            else:
                assert isinstance(writer, RowWriter)
                assert pack is not None or not getattr(writer, "needs_rows", True)  # as check_order has seen
                work = PackRows(pack, tokenize, writer, own)
            yield Stage(_output(name, side), work, own.after, work.units)
    yield from _training(recipe, passes, stream, tokenize, pack, mix)


def _output(label: str, side: SplitSubset | None) -> str:
    """The stage that writes one side of what a writer writes, and its folder of output."""
    return output_of(label, side.name) if side else label


def _cluster_signal(recipe: Recipe) -> str | None:
    """The signal that says which cluster a document is of, where the recipe splits by that."""
    if not recipe.split or recipe.split.by != "cluster":
        return None
    steps = zip(labels(recipe.steps), recipe.steps)
    return next(f"{label}.cluster_id" for label, step in steps if finds_clusters(step))  # as check_order has seen


def _stream(
    last: PassDocuments, tokens: str, ids: str, mix: str | None, epochs: str
) -> tuple[TokenStream, tuple[Stage, ...]]:
    """The stream of the documents, with those that a mix draws again; and the stage that makes these.

    tokens, ids   the stages with lengths and ids
    epochs        the name of the stage
    """
    if mix is None:
        return TokenStream(last, tokens, ids), ()
    verdicts = f"{mix}-verdicts"
    repeat = RepeatDocuments(last, verdicts, f"{mix}.copies", tokens, ids)
    after = tuple(dict.fromkeys((*last.after, tokens, ids, verdicts)))
    return TokenStream(last, tokens, ids, epochs), (Stage(epochs, repeat, after, repeat.units),)


def _training(
    recipe: Recipe, passes: tuple[str, ...], stream: TokenStream, tokenize: Tokenize, pack: Pack | None, mix: str | None
) -> Iterator[Stage]:
    """The stages that write what the stages of training read, as far as no writer of the recipe does."""
    encoded = {_encoding(tokenize, pack): stream}
    folders = new_folders(recipe)
    for folder in folders:
        encoding = _encoding(folder.tokenize, folder.pack)
        if encoding not in encoded:
            name = f"{folder.name}-ids"
            split_at, row_length = encoding[1:]
            folder_sources = [
                other_folder.source
                for other_folder in folders
                if _encoding(other_folder.tokenize, other_folder.pack) == encoding
            ]
            sources = (
                None
                if None in folder_sources
                else tuple(dict.fromkeys(source for source in folder_sources if source is not None))
            )
            encode = EncodeDocuments(folder.tokenize, tokenize, stream.before, split_at, row_length, sources)
            yield Stage(name, encode, stream.before.after, encode.units)
            encoded[encoding], repeats = _stream(stream.before, name, name, mix, f"{folder.name}-{EPOCHS}")
            yield from repeats
        own = encoded[encoding]
        side = SplitSubset(TRAIN) if recipe.split else None
        if side and own is stream and folder.source is None and not folder.where:
            own = replace(own, chosen=f"{SPLIT}-{TRAIN}")
        elif side or folder.source is not None or folder.where:
            where = tuple((signal, bounds.min, bounds.max) for signal, bounds in folder.where)
            measured = passes if where else ()
            choose = ChooseDocuments(own, folder.source, where, measured, f"{mix}.copies" if mix else None, side)
            name = f"{folder.name}-documents"
            yield Stage(name, choose, choose.after, choose.units)
            own = replace(own, chosen=name)
        work = PackRows(folder.pack, folder.tokenize, folder.writer, own)
        yield Stage(folder.name, work, own.after, work.units)


def _encoding(tokenize: Tokenize, pack: Pack | None) -> tuple[Tokenize, SplitAt | None, int | None]:
    """All that the ids of documents depend on, and the places at which they may be cut."""
    row_length = pack.length if pack and keeps_parts(tokenize) else None
    return tokenize, pack.split_at if pack else None, row_length
