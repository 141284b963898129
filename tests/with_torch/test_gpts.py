"""GPTs that are trained together, for `corpusmill ablate`, are those of `train.gpt` trained one by one."""

import json
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.ablation import planted
from corpusmill.report.tables import RunTables

torch = pytest.importorskip("torch", reason="torch is not installed: make torch runs these tests")
torch.set_num_threads(1)  # the models are so small that threads wait for each other most of the time

from torch.nn import functional

from corpusmill.train.ablate.ablation import ablate
from corpusmill.train.ablate.gpts import END, GptModels, GroupModels, TokenRows, for_device, schedule
from corpusmill.train.gpt import GPT

SMALL = GptModels(width=16, layers=2, heads=2, length=24, rows=3, rate=2e-2, budget=1000)
BUDGET = 12 * SMALL.rows * SMALL.length  # bytes: twelve steps


def strings(*values):
    return pa.array(values, pa.large_string())


def prose(seed, size):
    return strings(*(text for text, _ in planted.documents("noise-0", seed, size, planted.Chain(), 2)))


PARTS = [prose(1, 1500), prose(2, 700), strings("zq" * 300, "é" * 50), strings("", "a")]
JUDGED = [prose(3, 800), strings("a river", "")]
TIMES = np.array([[1, 0, 0, 0], [0, 2, 1, 0], [1, 1, 3, 1], [0, 0, 0, 1], [0, 1, 0, 0]], float)


def group(kind=SMALL):
    return GroupModels(kind, JUDGED, PARTS, BUDGET, np.random.default_rng(5))


def alone(models, times):
    """Bits of each target for a GPT that is trained by itself, with what PyTorch has for that."""
    model, kind = models.untrained(), models.kind
    optimiser = torch.optim.AdamW(model.parameters(), kind.rate, betas=(0.9, 0.95), weight_decay=0.1)
    read = models.read(times).reshape(models.steps, kind.rows)
    for step, rows in enumerate(read):
        optimiser.param_groups[0]["lr"] = kind.rate * schedule(step / models.steps)
        tokens, targets, positions = models.rows.tensors(rows, "cpu")
        loss = functional.cross_entropy(model(tokens, positions).flatten(0, 1), targets.flatten())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    bits = []
    with torch.no_grad():
        for number in range(models.targets):
            tokens, targets, positions = models.judged.tensors(np.flatnonzero(models.target == number), "cpu")
            logits = model(tokens, positions).flatten(0, 1)
            bits.append(float(functional.cross_entropy(logits, targets.flatten(), reduction="sum")) / math.log(2))
    return bits


def test_models_that_are_trained_together_are_those_trained_alone():
    models = group()
    bits = models(TIMES)
    assert bits == pytest.approx(np.array([alone(models, times) for times in TIMES]), rel=2e-3)
    untrained = models.judge({name: weight[None] for name, weight in models.untrained().named_parameters()})
    assert (bits[:3, 0] < untrained[0, 0] - 1000).all()  # they have learnt: 2 bits a byte at least


@pytest.mark.parametrize("at_once", [1, 2, 3, 80])
def test_no_model_depends_on_those_beside_it(at_once):
    assert group(replace(SMALL, models_at_once=at_once))(TIMES).tolist() == group()(TIMES).tolist()
    assert group()(TIMES[[4, 1]]).tolist() == group()(TIMES)[[4, 1]].tolist()


@settings(max_examples=40)
@given(st.lists(st.text("ab é", max_size=9), max_size=4), st.integers(2, 7))
def test_rows_hold_all_bytes_between_ends_and_no_position_crosses_a_document(texts, length):
    rows = TokenRows.packed(strings(*texts), length)
    pairs: list[tuple[int, int, int]] = []
    for text in texts:
        symbols = [END, *text.encode(), END]
        pairs += zip(symbols, symbols[1:], range(len(symbols)))
    columns = (rows.tokens, rows.targets, rows.positions)
    found = list(zip(*(column.flatten().tolist() for column in columns)))
    assert [pair[:2] for pair in found[: len(pairs)]] == [pair[:2] for pair in pairs]
    assert all(target == -100 for _, target, _ in found[len(pairs) :]) and len(found) - len(pairs) < length
    for at, ((_, _, position), (_, _, expected)) in enumerate(zip(found, pairs)):
        assert position == min(at % length, expected)


def test_a_model_reads_what_is_in_its_mix_as_often_as_it_says():
    models = group()
    by_row = {number: int(part) for number, part in enumerate(models.part)}
    models.steps = 1000  # all there is, and again
    for times in TIMES:
        rows = int((times[models.part]).sum())
        counts = np.bincount(models.read(times)[:rows], minlength=len(models.part))
        assert all(counts[row] == times[part] for row, part in by_row.items())


def test_sixteen_bits_and_the_shape_for_accelerators_give_nearly_the_same():
    near = group(replace(SMALL, bf16=True))(TIMES)
    assert near == pytest.approx(group()(TIMES), rel=0.03) and near.tolist() != group()(TIMES).tolist()
    large = for_device("cuda")
    assert 1e6 < sum(weight.numel() for weight in GPT(large.shape).parameters()) < 5e6
    here = replace(large, device="cpu", rows=1, models_at_once=2)
    bits = GroupModels(here, JUDGED, PARTS, 2 * here.length, np.random.default_rng(5))(TIMES[:2])
    assert bits.shape == (2, 2) and np.isfinite(bits).all()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Three sources, one of letters at random, judged by prose that no source has."""
    sources = ("noise-0", "noise-100", "twin")
    return planted.mill(tmp_path_factory.mktemp("gpts") / "corpus", 3, 80_000, sources, length=2)


TINY = GptModels(width=16, layers=1, heads=1, length=16, rows=1, rate=1e-2, models_at_once=80)


def test_prose_is_better_and_noise_is_worse(run):
    answer = ablate(RunTables(run), own={"prose": prose(99, 60_000)}, kind=TINY, budget=2000)
    effects = planted.named(answer.effects)
    assert answer.models == 8 * 56  # an eighth of the design would read none of three sources
    assert effects["noise-100"].change.verdict == "worse" and effects["noise-0"].change.verdict == "better"
    assert {effects[name].change.verdict for name in planted.NULL} == {"not shown"}


def test_the_command_trains_gpts(corpusmill, run, tmp_path):
    own = tmp_path / "own.jsonl"
    own.write_text("".join(json.dumps({"text": text}) + "\n" for text in prose(99, 60_000).to_pylist()))
    status, out, _ = corpusmill("ablate", run, "--models", "gpt", "--bytes", "200", "--target", f"own={own}", "--json")
    record = json.loads(out)
    assert status == 0 and record["kind"].startswith("GPTs of ") and record["budget"] == 200


def test_threads_change_nothing(run):
    own = {"prose": prose(99, 60_000)}
    one, other = (ablate(RunTables(run), own=own, kind=TINY, budget=60, workers=workers) for workers in (1, 3))
    assert json.dumps(one.to_json()) == json.dumps(other.to_json())
