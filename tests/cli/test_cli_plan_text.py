"""What `plan` prints of an estimate, of models, of sources and of stages."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.cli import plan_cost, plan_model, plan_sources, plan_stages
from corpusmill.errors import InputError
from corpusmill.tokens.budget import amount
from made_run import made_corpus, made_run

RANGE = {"value": 100.0, "low": 80.0, "high": 120.0}
COST = {
    "bytes": 4_000_000, "sample_bytes": 40_000, "asked_share": 0.01, "workers": 2, "hours": 0.5, "cpu": 3600.0, "disk": 12_000_000,
    "memory": 100_000_000, "all_memory": 300_000_000, "documents": RANGE, "tokens": RANGE,
    "copies": {"value": 0.1, "low": 0.05, "high": 0.2},
    "stages": [{"stage": "pass-1", "seconds": 90.0, "bytes": 5_000}],
    "sources": [{"source": "web", "bytes": 4_000_000, "documents": 100, "tokens": 0, "share": None}],
    "shuffles": [{"step": "minhash", "slices": 320, "files": 2, "units": 160}],
    "models": [], "requests": {"put": 1234, "get": 56789}, "price": {"put": 0.006, "core": 1.5}, "prices": "",
}  # fmt: skip


def shown(capsys, **changes) -> str:
    plan_cost.show({**COST, **changes})
    return capsys.readouterr().out


def test_a_model_that_is_asked_has_a_line(capsys):
    model = {"model": "tiny", "questions": 3000, "answered": 0, "prompt_tokens": 942_000, "answer_tokens": 9000, "usd": 0.1,
             "seconds": 65.0, "asked": 224}  # fmt: skip
    assert (
        "  model   tiny: 3,000 questions, 942,000 tokens of prompts and 9,000 of answers, 0.10 USD, 1 min 5 s; measured on 224 "
        "questions, whose answers are kept"
    ) in shown(capsys, models=[model]).splitlines()
    rest = {"questions": 0, "answered": 3000, "prompt_tokens": 0, "answer_tokens": 0, "usd": None, "asked": 0}
    said = "  model   tiny: 0 questions, 0 tokens of prompts and 0 of answers; 3,000 are answered already"
    assert said in shown(capsys, models=[model | rest]).splitlines()


def test_an_estimate_has_a_line_for_each_thing_that_it_costs(capsys):
    lines = shown(capsys).splitlines()
    assert lines[0] == "Estimate for all 4.0 MB of input, from a sample of 40.0 kB (1.0 %):"
    assert lines[1:11] == [
        "  kept    100 (80 to 120) documents, 100 (80 to 120) tokens, nine times of ten",
        "  copies  10.0% of the documents that a dedup sees (5.0% to 20.0%)",
        "  time    30 min 0 s with 2 workers; 1 h 0 min of processors",
        "  disk    12.0 MB in the run's folder",
        "  memory  100.0 MB per worker in the sample, 300.0 MB all processes",
        "  shuffle minhash: 320 slices of 2 key files for 160 units",
        "  store   1,234 PUT and 56,789 GET requests, if all is in an object store",
        "  price   1.51 USD: PUT 0.006 USD, cores 1.50 USD; list prices of June 2025, see --prices",
        "",
        "stage   worker time    disk",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sample_bytes": 4_000_000}, "(100.0 %; 96.0 MB are sampled at least, as less says little):"),
        ({"bytes": 40_000_000_000, "sample_bytes": 2_000_000_000}, "(5.0 %; compressed files are read whole):"),
        ({"sample_bytes": 40_500}, "(1.0 %):"),
    ],
)
def test_a_sample_that_is_larger_than_was_asked_says_why(capsys, changes, said):
    plan_cost.show({**COST, **changes})
    assert capsys.readouterr().out.splitlines()[0].endswith(said)


@pytest.mark.parametrize(
    ("changes", "absent", "present"),
    [
        ({"copies": {"value": 0, "low": 0, "high": 0}}, "  copies", "  time"),
        ({"price": {}}, "  price", "  store"),
        ({"tokens": {"value": 0, "low": 0, "high": 0}}, " tokens,", "documents, nine times of ten"),
        ({"memory": 0}, "per worker in the sample", "  memory  unknown"),
        ({"shuffles": []}, "  shuffle", "  store"),
        ({"prices": "ours.csv"}, "June 2025", "; ours.csv"),
        ({"workers": 1}, "1 workers", "with 1 worker;"),
    ],
)
def test_what_there_is_not_is_not_said(capsys, changes, absent, present):
    out = shown(capsys, **changes)
    assert absent not in out and present in out


@given(st.floats(1, 1e14))
def test_a_short_number_is_read_back_as_the_number(value):
    assert amount(plan_model.short(value)) == pytest.approx(value, rel=0.006)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (999, "999"),
        (1000, "1k"),
        (999.6e6, "1000M"),
        (1e9, "1B"),
        (1.5e15, "1.5e15"),
        (5.76e23, "5.76e23"),
    ],
)
def test_a_large_number_has_a_letter(value, text):
    assert plan_model.short(value) == text


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (("7B", None, None), ("params", 7e9)),
        ((None, "1e23", None), ("flops", 1e23)),
        ((None, None, "1T"), ("tokens", 1e12)),
    ],
)
def test_one_quantity_is_given(options, answer):
    assert plan_model.quantity(*options) == answer


@pytest.mark.parametrize("options", [("7B", "1e23", None), ("1", "1", "1"), (None, None, None), ("", None, None)])
def test_none_two_and_what_is_no_amount_are_refused(options):
    with pytest.raises(InputError):
        plan_model.quantity(*options)


@pytest.mark.parametrize("quantity", ["params", "tokens", "flops"])
def test_each_estimate_keeps_what_is_given(quantity):
    value = {"params": 7e9, "tokens": 1e12, "flops": 1e22}[quantity]
    for name, model in plan_model.optimal(quantity, value).items():
        assert getattr(model, quantity) == pytest.approx(value), name
        assert model.flops == pytest.approx(6 * model.params * model.tokens)


def test_weights_are_read_from_the_right():
    assert plan_sources.weights(["web=0.8", "a=b=1"]) == {"web": 0.8, "a=b": 1.0}
    assert plan_sources.weights([]) == {}


@pytest.mark.parametrize("option", ["web", "=1", "web=", "web=nan", "web=inf", "web=-0.1", "web=x"])
def test_a_weight_that_is_none_is_refused(option):
    with pytest.raises(InputError, match="--weight is a source and its share"):
        plan_sources.weights([option])


SHARES = st.dictionaries(st.sampled_from("abcd"), st.floats(0.01, 10), min_size=1)


@given(SHARES, st.integers(1, 10**9))
def test_needs_add_up_to_the_tokens_and_say_what_is_missing(shares, tokens):
    available = dict.fromkeys(shares, 1000)
    needs = plan_sources.needs(available, shares, tokens, "the run")
    assert sum(need["share"] for need in needs.values()) == pytest.approx(1)
    assert sum(need["wanted"] for need in needs.values()) == pytest.approx(tokens, abs=len(shares))
    for need in needs.values():
        assert need["epochs"] == need["wanted"] / 1000
        assert need["missing"] == max(0, math.ceil(need["wanted"] / 4) - 1000)


def test_without_shares_they_are_those_of_what_is_available():
    needs = plan_sources.needs({"a": 300, "b": 100}, {}, 40, "x")
    assert {name: need["wanted"] for name, need in needs.items()} == {"a": 30, "b": 10}
    assert plan_sources.needs(None, {}, 40, "x") == {} == plan_sources.needs({"a": 0}, {}, 40, "x")


def test_a_source_without_tokens_has_no_epochs(capsys):
    needs = plan_sources.needs({"a": 0, "b": 8}, {"a": 1, "b": 1}, 8, "x")
    assert needs["a"]["epochs"] is None and needs["a"]["missing"] == 1
    plan_sources.show(needs)
    out = capsys.readouterr().out
    assert out.splitlines()[1].split() == ["a", "50.0%", "4", "0", "–"]
    assert "a: 1 token is missing for 4 epochs" in out and "b:" not in out


def test_a_source_that_is_not_there_is_named():
    with pytest.raises(InputError, match=r'runs/x has no source "wbe"; did you mean "web"\? It has: web'):
        plan_sources.needs({"web": 1}, {"wbe": 1}, 1, "runs/x")


def test_a_sample_without_tokens_cannot_be_planned_with():
    with pytest.raises(InputError, match="the sample gave no tokens"):
        plan_sources.of_sample(COST)
    cost = {"sources": [{"source": "a", "tokens": 5, "share": 0.5}, {"source": "b", "tokens": 0, "share": None}]}
    assert plan_sources.of_sample(cost) == ({"a": 5, "b": 0}, {"a": 0.5})


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("s.yaml", "stages: [{name: a}]", True),
        ("s.json", '{"stages": []}', True),
        ("r.yaml", "read: {jsonl: x}\nstages: []", False),
        ("r.yaml", "- stages", False),
        ("s.json", "{not json", False),
        ("s.yaml", "a: [", False),
        ("s.yaml", "", False),
    ],
)
def test_a_file_of_stages_is_known_by_what_is_in_it(tmp_path, name, text, expected):
    (tmp_path / name).write_text(text)
    assert plan_stages.is_one(tmp_path / name) == expected


def test_no_file_and_a_folder_without_stages_are_none(tmp_path):
    assert not plan_stages.is_one(tmp_path / "none.yaml") and not plan_stages.is_one(tmp_path)


STAGE = {
    "stage": "main", "steps": 10, "first_step": 0, "tokens": 5120, "batch": 8, "length": 64, "packing": ["concat"],
    "without_loss": [], "sources": {"web": {"share": 1.0, "tokens": 5120, "there": None, "epochs": None}},
}  # fmt: skip


def test_stages_are_a_table_and_one_for_each(capsys):
    plan_stages.show([STAGE, {**STAGE, "stage": "end", "first_step": 10, "without_loss": ["prefix"]}])
    out = capsys.readouterr().out
    assert out.splitlines()[1].split() == ["main", "10", "0", "5,120", "8", "64", "concat", "–"]
    assert "\nmain\n" in out and out.count("web     100.0%   5,120                 –       –") == 2
    assert "The last stage, end, has prefixes" in out
    plan_stages.show([{**STAGE, "without_loss": ["prefix"]}])
    assert "has prefixes" not in capsys.readouterr().out, "the only stage"


@pytest.mark.parametrize("sample", ["0", "101%", "x", "-1%"])
def test_a_share_to_sample_that_is_none_is_refused(corpusmill, sample):
    status, out, err = corpusmill("plan", made_corpus(), "--sample", sample)
    assert (status, out) == (2, "") and "--sample" in err


def test_prices_that_are_none_are_refused_before_the_sample(corpusmill, tmp_path):
    status, out, err = corpusmill("plan", made_corpus(), "--prices", tmp_path / "none.csv")
    assert (status, out) == (2, "") and "none.csv: cannot be read as a table of prices" in err


def test_a_run_says_how_far_its_tokens_go(corpusmill):
    status, out, _ = corpusmill("plan", made_run(), "--params", "1k", "--json")
    record = json.loads(out)
    assert status == 0 and record["given"] == {"params": 1000.0} and record["run"] is None
    assert sum(need["wanted"] for need in record["sources"].values()) == pytest.approx(20_000, abs=2)
