"""The token budget of a model in the terminal, and how far the tokens of a run go."""

import json

import pytest

from made_run import made_run


def test_parameters_say_tokens_and_operations(corpusmill):
    status, out, _ = corpusmill("plan", "--params", "7B")
    assert status == 0
    assert out.splitlines()[0] == "7B parameters on 140B tokens: 5.88e21 FLOP"
    lines = [line.split() for line in out.splitlines()]
    assert ["Llama", "3", "8B", "8B", "15T", "1875.0", "overtrained", "×93.8", "13.1T"] in lines
    assert ["GPT-3", "175B", "175B", "300B", "1.7", "undertrained", "×11.7", "12B"] in lines


def test_overtraining_moves_operations_from_parameters_to_tokens(corpusmill):
    plans = [
        json.loads(corpusmill("plan", "--flops", "5.88e21", "--overtrain", n, "--json")[1])["plan"] for n in (1, 10)
    ]
    assert plans[0]["params"] == pytest.approx(7e9) and plans[0]["tokens"] == pytest.approx(140e9)
    assert plans[1]["params"] == pytest.approx(7e9 / 10**0.5) and plans[1]["tokens"] == pytest.approx(140e9 * 10**0.5)
    assert plans[1]["flops"] == plans[0]["flops"] == pytest.approx(5.88e21)


def test_tokens_say_the_largest_model_that_they_are_enough_for(corpusmill):
    out = json.loads(corpusmill("plan", "--tokens", "1T", "--overtrain", 5, "--json")[1])
    assert out["plan"]["params"] == pytest.approx(10e9) and out["plan"]["tokens_per_param"] == pytest.approx(100)
    assert set(out["compute_optimal"]) == {
        "20 tokens per parameter",
        "Besiroglu et al. 2024",
        "Hoffmann et al. 2022, approach 3",
    }
    assert all(one["tokens"] == pytest.approx(1e12) for one in out["compute_optimal"].values())


def test_a_run_has_the_epochs_of_its_sources(corpusmill):
    run = made_run()
    last = json.loads((run / "waterfall.json").read_text())["steps"][-1]["sources"]
    there = {source: flow["tokens_out"] + flow["documents_out"] for source, flow in last.items()}
    shards = json.loads((run / "output" / "shards" / "index.json").read_text())["totals"]
    assert sum(there.values()) == shards["tokens"], "tokens as they are packed, EOS included"

    out = json.loads(corpusmill("plan", run, "--tokens", "100k", "--json")[1])["sources"]
    assert {source: need["there"] for source, need in out.items()} == there
    for need in out.values():  # as large as they are, if nothing else is said
        assert need["epochs"] == pytest.approx(100_000 / sum(there.values()), rel=0.01)

    weighted = corpusmill("plan", run, "--tokens", "100k", "--weight", "web=1", "--weight", "extra=3", "--json")[1]
    extra = json.loads(weighted)["sources"]["extra"]
    assert extra["wanted"] == 75_000 and extra["epochs"] == 75_000 / there["extra"]
    assert extra["missing"] == 75_000 // 4 - there["extra"]
    status, text, _ = corpusmill("plan", run, "--tokens", "100k", "--weight", "web=1", "--weight", "extra=3")
    assert status == 0 and f"extra: {extra['missing']:,} tokens are missing for 4 epochs" in text


def test_weights_alone_say_what_to_collect(corpusmill):
    out = json.loads(corpusmill("plan", "--params", "1B", "--weight", "web=3", "--weight", "wiki=1", "--json")[1])
    assert {source: need["wanted"] for source, need in out["sources"].items()} == {"web": 15 * 10**9, "wiki": 5 * 10**9}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give one of --params, --flops and --tokens, as in --params 7B; got none of them"),
        (["--params", "7B", "--tokens", "1T"], "got --params and --tokens"),
        (["--params", "7X"], '--params: "7X" is not an amount above 0; write it as 20000, "7B", "1.5T" or 1e23'),
        (["--params", "7B", "--overtrain", "0"], "--overtrain is a number above 0, got 0.0"),
        (["--params", "7B", "--weight", "web"], '--weight is a source and its share, as in web=0.8, got "web"'),
        (["--params", "7B", "--weight", "web=-1"], 'got "web=-1"'),
        (["--params", "7B", "--weight", "web=0"], "all weights are 0"),
        (["nowhere", "--params", "7B"], "not a run folder"),
    ],
)
def test_what_cannot_be_planned_is_refused(corpusmill, words, message):
    status, _, err = corpusmill("plan", *words)
    assert status == 2 and message in err


def test_a_source_that_the_run_does_not_have_is_named(corpusmill):
    status, _, err = corpusmill("plan", made_run(), "--params", "1M", "--weight", "wbe=1")
    assert status == 2 and 'has no source "wbe"; did you mean "web"? It has: ' in err
