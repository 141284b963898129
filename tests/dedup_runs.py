"""Runs of dedup steps over made texts, what becomes of each document, and the same in plain Python, slowly."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import settings
from hypothesis import strategies as st

import corpusmill
from corpusmill.engine.plan import inputs
from corpusmill.engine.plan import lower as lowering
from corpusmill.execute.serial import Serial
from corpusmill.read.jsonl import JsonlReader
from corpusmill.recipe import Recipe, Source
from corpusmill.report import page as report_page
from corpusmill.report.run_files import RunFiles
from corpusmill.schema import document_id

WORDS = ["alder", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple"]
texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join), min_size=1, max_size=9)
some = settings(max_examples=12, derandomize=True)  # each example is a run or two
NAMES: dict[str, str] = {}  # id -> name of every document that was made


@dataclass(frozen=True)
class Found:
    """A run, by the names of its documents."""

    folder: Path

    @cached_property
    def rows(self) -> dict[str, dict[str, Any]]:
        """name -> what all passes have written of the document, in document order."""
        files = RunFiles(self.folder)
        found: dict[str, dict[str, Any]] = {}
        for stage, _ in files.passes:
            for path in files.outputs(stage, "signals"):
                for row in pq.read_table(path).to_pylist():
                    found[row["url"]] = found.get(row["url"], {}) | row
        return found

    @property
    def kept(self) -> list[str]:
        return [name for name, row in self.rows.items() if row["dropped_by"] is None]

    @property
    def reasons(self) -> dict[str, str]:
        """name -> why, of the dropped."""
        return {name: row["reasons"] for name, row in self.rows.items() if row["dropped_by"] is not None}

    def twins(self, label: str) -> dict[str, tuple[str, float]]:
        """name -> the twin that stays and the similarity, of those that have one."""
        named = {name: (row[f"{label}.duplicate_of"], row[f"{label}.similarity"]) for name, row in self.rows.items()}
        return {name: (NAMES[twin], alike) for name, (twin, alike) in named.items() if twin is not None}

    def clusters(self, label: str) -> dict[str, tuple[str | None, int]]:
        """name -> the document that its cluster is named for, and its size."""
        named = {name: (row[f"{label}.cluster_id"], row[f"{label}.cluster_size"]) for name, row in self.rows.items()}
        return {name: (NAMES.get(head), size) for name, (head, size) in named.items()}

    def stages(self) -> dict[str, str]:
        """Stage -> the name of its results, which is another one if there is something to do anew."""
        return {
            stage: ",".join((results.folder, *results.keys)) for stage, results in RunFiles(self.folder).stages.items()
        }


def recipe(folder: Path, documents: Mapping[str, Any], *steps: Any, cuts: Sequence[int] = ()) -> Recipe:
    """A recipe that reads these documents.

    documents   name -> text, or all columns of the input; the name is the document's url and what its id is made of
    cuts        the numbers of the documents with which another file begins
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, given in documents.items():
        NAMES[document_id("jsonl", name)] = name
        lines.append(json.dumps({"id": name, "url": name, **({"text": given} if isinstance(given, str) else given)}))
    edges = [0, *sorted(cuts), len(lines)]
    paths = [folder / f"docs-{number:02d}.jsonl" for number in range(len(edges) - 1)]
    for path, start, stop in zip(paths, edges, edges[1:]):
        content = "".join(f"{line}\n" for line in lines[start:stop])
        if not path.exists() or path.read_text() != content:  # a file written anew is a changed input
            path.write_text(content)
    return Recipe(read=[Source(JsonlReader(), [str(path) for path in paths])], steps=steps, name="dedup")


def dedup(
    folder: Path,
    documents: Mapping[str, Any],
    *steps: Any,
    cuts: Sequence[int] = (),
    unit: int | None = None,
    partition_bytes: int | None = None,
    page: bool = False,
) -> Found:
    """What becomes of documents, in a run in folder/run.

    unit          bytes of input that make a unit, where it is not unit_mb
    partition_bytes   bytes of text for each partition of a band
    page          write the report, which takes two fifths of a run of a few documents
    """
    made = recipe(folder / "input", documents, *steps, cuts=cuts)
    with pytest.MonkeyPatch.context() as patch:
        if unit is not None:
            patch.setattr(inputs, "unit_bytes", lambda found, unit_mb: unit)
        if partition_bytes is not None:
            patch.setattr(lowering, "PARTITION", partition_bytes)
        if not page:
            patch.setattr(report_page, "write_page", lambda run: None)
        corpusmill.run(made, folder=folder / "run", executor=Serial())
    return Found(folder / "run")


def folders(inside: Path) -> Iterator[Path]:
    """New ones, one for each run of a test."""
    return (inside / str(number) for number in count())


def named(texts: Sequence[str]) -> dict[str, str]:
    return {f"d{number}": text for number, text in enumerate(texts)}


def grams(text: str, n: int, of: str = "words") -> set[Any]:
    """The set that a text of plain lower-case words is: its n-grams, or the whole of a shorter one."""
    parts: Any = text.split() if of == "words" else text
    joined = {tuple(parts[i : i + n]) for i in range(len(parts) - n + 1)}
    return joined or ({tuple(parts)} if parts else set())


def jaccard(one: set[Any], other: set[Any]) -> float:
    return len(one & other) / len(one | other)


def slow_twins(
    sets: Mapping[str, set[Any]], threshold: float, preferred: Sequence[str], earlier: Sequence[str] = ()
) -> dict[str, tuple[str, float]]:
    """The definition, with every pair compared: name -> twin and similarity, of those that go.

    preferred   the names of this run in order of preference
    earlier     those that an earlier run kept: they stay
    """
    stays, twins = list(earlier), {}
    for name in preferred:
        alike = [(-jaccard(sets[name], sets[other]), place, other) for place, other in enumerate(stays)]
        best = min((entry for entry in alike if -entry[0] >= threshold), default=None)
        if best is None:
            stays.append(name)
        else:
            twins[name] = (best[2], -best[0])
    return twins
