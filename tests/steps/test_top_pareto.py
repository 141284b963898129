"""The best part of a corpus is exactly that; chance by quality follows its distribution and the id alone."""

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpusmill
from conftest import docs
from corpusmill import Recipe, Source
from corpusmill.errors import RecipeError
from corpusmill.execute.processes import Processes
from corpusmill.execute.serial import Serial
from corpusmill.read.jsonl import JsonlReader
from corpusmill.report.run_files import RunFiles
from corpusmill.steps.filter.gopher_quality import GopherQuality
from corpusmill.steps.filter.pareto import Pareto
from corpusmill.steps.filter.top import Top


@dataclass(frozen=True, kw_only=True)
class Said:
    """The first word of a text as a number, null where it is none."""

    def signals(self, docs):
        words = [text.split()[0] for text in docs["text"].to_pylist()]
        return {"value": pa.array([float(w) if w != "none" else None for w in words], pa.float64())}


def kept(folder, values, **top):
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"text": f"{value} {'x' * (i % 7)}", "id": f"d{i}"}) for i, value in enumerate(values)]
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    steps = [Said(), Top(by="said.value", **top)]
    return run(folder, steps, Serial())


def run(folder, steps, executor):
    recipe = Recipe(read=[Source(JsonlReader(), str(folder / "in.jsonl"))], steps=steps)
    done = corpusmill.run(recipe, folder=folder / "run", executor=executor)
    batches = RunFiles(done.place).documents("docs", 1, ["text"], 100)
    texts = [text for batch in batches for text in batch["text"].to_pylist()]
    assert done.waterfall.documents_out == len(texts)
    return texts


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.sampled_from([0, 1, 2, 3, "none", 0.5, -1]), min_size=1, max_size=30),
    st.sampled_from([0.1, 0.25, 0.5, 0.9, 1.0]),
    st.sampled_from(["documents", "bytes"]),
    st.booleans(),
)
def test_it_keeps_what_sorting_everything_would(tmp_path_factory, values, keep, of, lowest):
    texts = [f"{value} {'x' * (i % 7)}" for i, value in enumerate(values)]
    worth = [float("inf") if v == "none" else (v if lowest else -v) for v in values]
    order = sorted(range(len(values)), key=lambda i: (worth[i], i))
    sizes = [len(text) if of == "bytes" else 1 for text in texts]
    stays, used = [], 0
    for i in order:
        used += sizes[i]
        if used > keep * sum(sizes) + 1e-9:
            break
        stays.append(i)
    found = kept(tmp_path_factory.mktemp("top"), values, keep=keep, weight_by=of, lowest=lowest)
    assert found == [texts[i] for i in sorted(stays)]


def test_workers_change_nothing(tmp_path):
    texts = ["word " * n for n in np.random.default_rng(0).integers(1, 50, 400).tolist()]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    rules = ("min_words",)
    words = next(rule.signal for rule in GopherQuality.RULES if rule.parameter == "min_words")
    steps = [GopherQuality(rules=rules, min_words=1), Top(by=f"gopher_quality.{words}", keep=0.3)]
    one = run(tmp_path, steps, Serial())
    (tmp_path / "run").rename(tmp_path / "before")
    assert run(tmp_path, steps, Processes(2)) == one and len(one) == 120


def test_pareto_follows_its_distribution_and_the_id(tmp_path):
    n = 20_000
    batch = docs(*["x"] * n)
    step = Pareto()
    draw = step.signals(batch)
    for score in (0.0, 0.5, 0.9, 1.0):
        signals = {**draw, "quality.score": pa.array([score] * n, pa.float64())}
        share = step.reasons(batch, signals).null_count / n
        theory = (2 - score) ** -9
        assert abs(share - theory) <= 4 * (theory * (1 - theory) / n) ** 0.5
    assert step.signals(batch.slice(7, 1))["draw"][0] == draw["draw"][7]
    assert Pareto(seed=1).signals(batch)["draw"][:9] != draw["draw"][:9]
    missing = {**draw, "quality.score": pa.nulls(n, pa.float64())}
    assert step.reasons(batch, missing).null_count == 0


@pytest.mark.parametrize("wrong", [{"by": "quality"}, {"keep": 0.0}, {"keep": 1.5}, {"weight_by": "pages"}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(RecipeError):
        Top(**wrong)
