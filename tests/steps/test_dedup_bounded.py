"""What is held in memory at a time decides nothing, into however many units the work is divided."""

from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from corpusmill.report.index import export
from corpusmill.report.run_files import RunFiles
from corpusmill.steps import corpus, keys, verdict_tables
from corpusmill.steps.dedup import _clusters, _emptied, _routes, _shingles, _sketches, _verdicts
from corpusmill.steps.dedup.exact import Exact
from corpusmill.steps.dedup.minhash import Minhash
from corpusmill.steps.filter.top import Top
from corpusmill.steps.mix import _draw
from corpusmill.steps.mix.sources import Sources
from corpusmill.store.arrays import map_arrays
from dedup_runs import WORDS, Found, dedup, named

STEP = Minhash(ngram=1, bands=12, rows=2, threshold=0.5)
MIXED = (Sources(weights=(("jsonl", 1),), budget=500, unit="bytes"),)


def made(number: int) -> dict[str, str]:
    random = Random(0)
    return named([" ".join(random.choices(WORDS, k=random.randint(1, 6))) for _ in range(number)])


def facts(found: Found) -> list[dict[str, int]]:
    stages = RunFiles(found.folder).stages
    return [stages[f"minhash-{stage}"].facts for stage in ("decide", "emptied")]


def rows(found: Found) -> list[dict[str, Any]]:
    """What was written of each document, but for the folder that it is in."""
    return [{name: value for name, value in row.items() if name != "file"} for row in found.rows.values()]


def units(found: Found, stage: str) -> int:
    return len(RunFiles(found.folder).stages[stage])


def test_small_blocks_give_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "SLICE", 0)
    monkeypatch.setattr(corpus, "RECORDS", 1)  # a unit a partition, so that a pair is found by several
    found = []
    for name in ("large", "small"):
        run = dedup(tmp_path / name, made(60), STEP, cuts=[20, 40], unit=600)
        (verdicts,) = run.folder.glob("stages/minhash-verdicts-*/verdicts/*.parquet")
        found.append((verdicts.read_bytes(), run.twins("minhash")))
        monkeypatch.setattr(_routes, "MAX_UNMERGED_PAIRS", 5)
        monkeypatch.setattr(_shingles, "MAX_HASHES", 4)
        monkeypatch.setattr(_verdicts, "ROWS", 3)
    large, small = found
    assert small == large
    assert len(large[1]) > 20


@pytest.mark.parametrize("slices", [1 << 20, 200])
def test_units_of_more_documents_than_a_record_has_room_for_give_the_same(tmp_path, monkeypatch, slices):
    """All of them, some, or none, in a run and in the index of an earlier one."""
    found, laid_out = [], []
    for name, bits in (("all", 24), ("some", 3), ("none", 0)):
        monkeypatch.setattr(keys, "MOST_ROWS", 1 << bits)
        earlier = dedup(tmp_path / name / "earlier", made(20), STEP, cuts=[5], unit=200, partition_bytes=slices)
        index = export(earlier.folder, tmp_path / name / "index", "minhash").folder
        step = replace(STEP, against=str(index))
        run = dedup(tmp_path / name / "later", made(60), step, cuts=[10, 40], unit=600, partition_bytes=slices)
        files = RunFiles(run.folder).stages["pass-1"]["keys-minhash"].paths.to_pylist()
        laid_out.append({"records" in map_arrays(run.folder / path) for path in files})
        found.append((rows(run), facts(run), run.twins("minhash")))
    assert laid_out == [{True}, {True, False}, {False}]
    assert found[0] == found[1] == found[2] and len(found[0][2]) > 20


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_sketches_that_are_read_once_for_all_units_give_the_same_groups(tmp_path, monkeypatch, keep):
    step = Minhash(ngram=1, bands=6, rows=2, threshold=0.5, keep=keep, against=str(tmp_path / "earlier" / "run"))
    dedup(tmp_path / "earlier", made(10), Minhash(ngram=1, bands=6, rows=2, threshold=0.5, keep=keep))
    monkeypatch.setattr(corpus, "SLICE", 0)
    monkeypatch.setattr(corpus, "RECORDS", 20)
    monkeypatch.setattr(_sketches, "MAX_SKETCHES", 3)
    monkeypatch.setattr(corpus, "SKETCHED", 25)

    def groups(name: str) -> tuple[list[bytes], dict[str, int], dict[str, tuple[str, float]]]:
        run = dedup(tmp_path / name, made(60), step, cuts=[20, 40], unit=400)
        results = RunFiles(run.folder).stages["minhash-group"]
        assert len(results) > 3
        files = [(run.folder / path).read_bytes() for path in results["pairs"].paths.to_pylist()]
        return files, results.facts, run.twins("minhash")

    one_by_one = groups("one-by-one")
    monkeypatch.setattr(_sketches, "MANY_PARTITIONS", 1)
    once = groups("once")
    monkeypatch.setattr(_sketches, "MAX_SMALL_NUMBERS", 69)
    assert groups("many") == once
    stages = RunFiles(tmp_path / "once" / "run").stages
    assert len(stages["minhash-sketches"]) == 4  # of four files of keys with 70 documents, one earlier
    assert max(stages["minhash-shared"].numbers("parts")) > 3
    assert once == one_by_one and len(once[2]) > 20


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_into_however_many_units_clusters_are_divided_the_decisions_and_counts_are_the_same(
    tmp_path, monkeypatch, keep
):
    step = Minhash(ngram=1, bands=6, rows=2, threshold=0.5, keep=keep)
    random = Random(1)
    # Families of words of their own, so that there are clusters to divide.
    documents = named(
        [" ".join(f"{random.choice(WORDS)}x{'y' * (i % 9)}" for _ in range(random.randint(2, 5))) for i in range(70)]
    )
    found = {}
    for name, share, home, small in (("one", 1 << 21, 1 << 20, False), ("some", 40, 30, False), ("many", 1, 1, True)):
        monkeypatch.setattr(_clusters, "UNIT_WEIGHT", share)
        monkeypatch.setattr(verdict_tables, "HOME", home)
        if small:
            monkeypatch.setattr(_clusters, "RANGE_DOCUMENTS", 4)
            monkeypatch.setattr(_clusters, "CHUNK_LINKS", 3)
            monkeypatch.setattr(_routes, "CHUNK_LINKS", 3)
            monkeypatch.setattr(_routes, "MIN_ROUTED_BYTES", 1)
            monkeypatch.setattr(_routes, "MAX_ROUTED_BYTES", 1)
            monkeypatch.setattr(_emptied, "MAX_COUNTS", 2)
        found[name] = dedup(tmp_path / name, documents, Exact(), step, cuts=[20, 50], unit=500)
    one, some, many = found.values()
    assert units(one, "minhash-decide") == 1 < units(some, "minhash-decide") < units(many, "minhash-decide")
    assert units(one, "exact-names") == 1 < units(some, "exact-names") < units(many, "minhash-verdicts")
    assert rows(one) == rows(some) == rows(many)
    assert facts(one) == facts(some) == facts(many)
    assert len(one.twins("minhash")) > 10


def test_a_chain_is_one_cluster_and_the_units_that_decide_are_those_that_there_are(tmp_path, monkeypatch):
    """Each is like the one before and no other, so the cluster passes through all ranges of documents."""
    words = [f"w{'abcdefghij'[i // 10]}{'abcdefghij'[i % 10]}" for i in range(60)]
    documents = named([" ".join(words[i : i + 10]) for i in range(40)])
    step = Minhash(ngram=1, bands=40, rows=1, threshold=0.8)
    monkeypatch.setattr(_clusters, "RANGE_DOCUMENTS", 3)
    monkeypatch.setattr(_clusters, "UNIT_WEIGHT", 2)
    random = Random(2)
    shuffled = dict(random.sample(sorted(documents.items()), len(documents)))
    found = dedup(tmp_path, shuffled, step, cuts=[7, 19, 30], unit=300)
    assert units(found, "minhash-decide") == 1
    for name, (twin, similarity) in found.twins("minhash").items():
        assert twin in found.kept and name not in found.kept
        assert abs(int(name[1:]) - int(twin[1:])) == 1 and similarity == 9 / 11
    assert len(found.twins("minhash")) >= 13


@dataclass(frozen=True, kw_only=True)
class Length:
    def signals(self, docs):
        return {"value": pa.array([len(text) // 8 for text in docs["text"].to_pylist()], pa.float64())}


def test_a_line_and_a_draw_are_the_same_from_one_unit_and_from_many(tmp_path, monkeypatch):
    steps = (Length(), Top(by="length.value", keep=0.6, weight_by="bytes"), *MIXED)
    found = []
    for name in ("one", "many"):
        run = dedup(tmp_path / name, made(60), *steps, cuts=[20, 45], unit=400)
        stages = RunFiles(run.folder).stages
        found.append((rows(run), stages["top-cut"].facts, stages["sources-draw"].facts))
        monkeypatch.setattr(verdict_tables, "HOME", 9)
        monkeypatch.setattr(_draw, "MAX_DRAWN", 4)
    assert units(run, "top-ranks") > 3 < units(run, "sources-verdicts")
    assert found[0] == found[1]
    assert {"top", "sources"} <= {row["dropped_by"] for row in found[0][0]}
