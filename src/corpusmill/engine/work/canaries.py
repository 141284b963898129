"""Canaries: their documents as a source of the recipe, and where they are put.

They are read as a source of their own that no step is for, so every pass counts them; none can drop them. The last pass
takes each from where it was read and puts it behind a document of another source. Which one is a draw among all that
are kept, in the order of the run: however the run is cut into units, they are at the same places.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from corpusmill.engine.work.planted import HELD, PLANTED, UnitWithCanaries
from corpusmill.errors import RecipeError
from corpusmill.recipe.canaries import SOURCE, Planted, canaries
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import name_of
from corpusmill.recipe.rows import Rows
from corpusmill.recipe.selection import Selection
from corpusmill.schema import document_id
from corpusmill.steps import Pack, Tokenize
from corpusmill.store.unit_io import Upstream
from corpusmill.store.units import Results
from corpusmill.store.work import PlannedUnit
from corpusmill.tokens.sampling import sampling_hash

STORED = "rows.jsonl"  # as `stored_rows` names the file


def with_canaries(recipe: Recipe) -> Recipe:
    """The recipe with its canaries as a source, if it has some and they are not one already.

    Raises RecipeError if a source has their name, or a mix draws documents.
    """
    if not recipe.canary:
        return recipe
    earlier = next((source for source in recipe.read if source.source == SOURCE), None)
    if earlier is not None:
        stored = not isinstance(earlier, Rows) and PurePosixPath(earlier.paths[0]).name == STORED
        if not stored and not isinstance(earlier, Rows):
            raise RecipeError(f'canary: a source is named "{SOURCE}", as that of planted strings; name yours otherwise')
        return recipe
    for step in recipe.steps:
        if name_of(step).startswith("mix/"):
            raise RecipeError(
                f"canary: {name_of(step)} draws documents, and would draw copies of canaries or leave them out. Plant "
                "them in a run of the sources, or mix with the loader"
            )
    names = [source.source for source in recipe.read]
    selections = [_without(step, chosen, names) for step, chosen in zip(recipe.steps, recipe.selections)]
    planted = canaries(recipe.canary, recipe.seed, names)
    rows = [{"id": name, "text": canary.text, "canary": canary.name} for canary in planted for name in canary.names]
    result = replace(recipe, read=(*recipe.read, Rows(rows, SOURCE, text="text", id="id")), selections=selections)
    object.__setattr__(result, "written", recipe.written)
    return result


def planted_by(recipe: Recipe) -> list[Planted]:
    return canaries(recipe.canary, recipe.seed, [s.source for s in recipe.read if s.source != SOURCE])


def _without(step: Any, chosen: Selection | None, names: Sequence[str]) -> Selection | None:
    """The sources that a step is for, without the canaries."""
    if isinstance(step, Tokenize | Pack):
        return chosen
    if chosen is None:
        return Selection(except_=SOURCE)
    if SOURCE not in chosen.filter((*names, SOURCE)):
        return chosen
    return Selection(only=chosen.filter(names))


def spread(upstream: Upstream, before: str, planted: Sequence[Planted], seed: int) -> Iterator[PlannedUnit]:
    """The units of the last pass: each of the pass before, with the canaries that are put into it."""
    results = upstream.results(before)
    docs = results["docs"]
    runs = [
        (unit, start, count, source)
        for unit, note in enumerate(results.notes[HELD] if len(results) else ())
        for start, count, source in _runs(str(note))
    ]
    source_of = {document_id(SOURCE, name): canary.source for canary in planted for name in canary.names}
    hosts = {
        source: [run for run in runs if run[3] != SOURCE and source in (None, run[3])] for source in source_of.values()
    }
    edges = {source: np.cumsum([count for _, _, count, _ in host_runs]) for source, host_runs in hosts.items()}
    moved: list[list[tuple[int, int, int, int]]] = [[] for _ in range(len(docs))]
    for unit, start, count, source in runs:
        if source != SOURCE:
            continue
        ids = upstream.rows(docs.path(unit), start, start + count)["id"].combine_chunks()
        for row, (name, draw) in enumerate(zip(ids.to_pylist(), sampling_hash(ids, seed, SOURCE).tolist()), start):
            into = source_of.get(name)
            if not hosts.get(into):
                moved[unit].append((-1, draw, unit, row))
                continue
            target = draw % int(edges[into][-1])
            at = int(np.searchsorted(edges[into], target, "right"))
            host, first, many, _ = hosts[into][at]
            moved[host].append((first + target - int(edges[into][at]) + many, draw, unit, row))
    for number, own in enumerate(moved):
        own.sort()
        units = sorted({number, *(unit for _, _, unit, _ in own)})
        entries = tuple((behind, unit, row) for behind, _, unit, row in own)
        yield PlannedUnit(UnitWithCanaries(number, entries), (repr(entries), *(docs.checksum(unit) for unit in units)))


def _runs(note: str) -> Iterator[tuple[int, int, str]]:
    """First row, rows and source of neighbouring documents of one source."""
    start = 0
    for source, count in json.loads(note):
        yield start, count, source
        start += count


def manifest(recipe: Recipe, results: Results) -> dict[str, Any] | None:
    """What a run has planted, by the results of its last pass; None if its recipe plants nothing.

    Every canary has its text, the `copies` that the recipe asks for, the `source` that it was put into (null: all), and
    its `documents`: id, copy, and `after`, the id of the document before it.
    """
    if not recipe.canary:
        return None
    after: Mapping[str, str | None] = dict(
        pair for noted in (results.notes[PLANTED] if len(results) else ()) for pair in json.loads(str(noted))
    )
    entries = []
    for canary in planted_by(recipe):
        ids = [document_id(SOURCE, name) for name in canary.names]
        documents = [{"id": id, "copy": copy, "after": after[id]} for copy, id in enumerate(ids, 1) if id in after]
        entries.append({**canary._asdict(), "documents": documents})
    return {"seed": recipe.seed, "canaries": entries}
