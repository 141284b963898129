"""Tables of figures: from plain values, the same for the page and the terminal."""

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_waterfall import FLOW

from corpusmill.recipe.stages import Scheduled
from corpusmill.report.figures.calls import Calls, calls_table, command_in_words, git_in_words, machine_in_words, period
from corpusmill.report.figures.domains import by_domain, registered
from corpusmill.report.figures.duplicates import DedupStep, dedup_table
from corpusmill.report.figures.engine_check import EngineCheck, in_words
from corpusmill.report.figures.mix import Mix, MixedSource, mix_table
from corpusmill.report.figures.packing import Packing, packing, packing_table, written_table
from corpusmill.report.figures.remaining_duplicates import RemainingDuplicates
from corpusmill.report.figures.resources import StageResources, resources_table
from corpusmill.report.figures.sampled import Share
from corpusmill.report.figures.texts import SideTexts, histogram, lengths_table
from corpusmill.report.figures.together import RulePair
from corpusmill.report.figures.tokens import DocumentGroup, TopToken, group_table, spread, token_text
from corpusmill.report.figures.training import Read, Trained, folders_table, training_table
from corpusmill.report.waterfall import Waterfall


def source(name, documents=10, available=100, share=0.5, wanted=80, drawn=80, appearances=8):
    return MixedSource(name, documents, available, share, wanted, drawn, min(documents, appearances), appearances)


def test_a_mix_ends_with_the_sum_of_its_sources():
    mix = Mix("sources", "tokens", (source("web"), source("code", 5, 40, 0.5, 80, 120, 15)))
    head, (web, code, total) = mix_table(mix)
    assert head == [
        "source",
        "documents",
        "tokens available",
        "target share",
        "target tokens",
        "epochs",
        "tokens drawn",
        "share drawn",
    ]
    assert web == ["web", "10", "100", "50.00 %", "80", "0.80", "80", "40.00 %"]
    assert code == ["code", "5", "40", "50.00 %", "80", "3.00", "120", "60.00 %"]
    assert total == ["all", "15", "140", "", "160", "", "200", ""]


def test_a_mix_that_drew_nothing_has_no_shares():
    _, (row, total) = mix_table(Mix("sources", "bytes", (source("web", 0, 0, 0.5, 0, 0, 0),)))
    assert row[5:] == ["0.00", "0", "–"] and total[6] == "0"


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_dedup_steps_have_a_column_for_each_other(steps):
    names = [f"step_{i}" for i in range(steps)]
    figures = [
        DedupStep(name, 100, 10 + i, i, None if i else 999, {other: 7 for other in names if other != name})
        for i, name in enumerate(names)
    ]
    head, rows = dedup_table(figures)
    assert head[6:] == [f"also found by {name}" for name in names]
    assert all(len(row) == len(head) for row in rows)
    for i, row in enumerate(rows):
        assert row[:6] == [names[i], "100", str(10 + i), f"{10 + i}.0 %", str(i), "–" if i else "999 B"]
        assert row[6 + i] == "" and row[6:].count("7") == steps - 1


def test_packed_rows_add_up():
    packed = {"rows": 4, "tokens": 30, "padding": 10, "cut_documents": 3, "discarded_tokens": 2, "context": 60}
    figure = packing(Waterfall(FLOW.read, FLOW.rows, packed))
    assert figure == Packing(4, 30, 10, 6, 3, 2, 2.0) and figure.capacity == 40
    rows = dict(packing_table(figure))
    assert rows["tokens, including EOS"] == "30 (75.0 %)" and rows["padding"] == "10 (25.0 %)"
    assert rows["documents split across rows"] == "3 (50.0 %)" and rows["tokens discarded"] == "2"
    assert rows["mean in-document context (tokens)"] == "2.0"


def test_without_rows_there_is_no_table():
    assert packing(FLOW) is None and packing_table(None) == []
    old = packing(Waterfall({}, (), {"rows": 1, "tokens": 0, "padding": 0, "cut_documents": 0, "discarded_tokens": 0}))
    assert old.mean_context is None and ["padding", "0 (–)"] in packing_table(old)


def test_what_is_written_without_packing_leaves_zeros_out():
    flow = Waterfall({}, (), {}, {"mds": {"tokens": 1234, "cut_documents": 0}, "litdata": {"token_files": 2}})
    assert written_table(flow) == [["mds", "tokens", "1,234"], ["litdata", "token files", "2"]]


def stage(**values):
    about: dict[str, Any] = {
        "stage": "pass-1",
        "units": 2,
        "seconds": 10.0,
        "longest": 6.0,
        "documents": 100,
        "bytes": 2_000_000,
    }
    return StageResources(**(about | {"memory": 1_000_000, "written": 500} | values))


def test_a_stage_has_its_rates():
    head, (row,) = resources_table([stage(cpu_seconds=9.0, elapsed_seconds=5.0, workers=2, share=0.25)])
    assert dict(zip(head, row)) == {
        "stage": "pass-1",
        "units": "2",
        "workers": "2",
        "elapsed": "5.0 s",
        "worker time": "10.0 s",
        "share": "25.0 %",
        "CPU": "90 %",
        "documents/s": "10",
        "text MB/s": "0.2",
        "peak memory": "1.0 MB",
        "written": "500 B",
    }


def test_what_is_not_known_of_a_stage_is_a_dash():
    head, (row,) = resources_table([stage(seconds=0.0, memory=None)])
    unknown = {name for name, cell in zip(head, row) if cell == "–"}
    assert unknown == {"workers", "elapsed", "CPU", "peak memory"}
    assert stage(seconds=0.0).documents_per_second == stage(seconds=0.0).mb_per_second == 0


def test_a_stage_is_json_with_rounded_numbers():
    record = json.loads(json.dumps(stage(cpu_seconds=1 / 3, seconds=1 / 3).to_json()))
    assert record["cpu_seconds"] == record["seconds"] == 0.333 and record["elapsed_seconds"] is None
    assert record["documents_per_second"] == 300.0


def group(name="web", documents=2, tokens=30, words=20, characters=150, size=180):
    return DocumentGroup(name, documents, tokens, words, characters, size)


def test_rates_of_tokens():
    figure = group()
    assert figure.fertility == 1.5 and figure.tokens_per_document == 15 and figure.characters_per_token == 5
    assert figure.bytes_per_token == 6 and figure.tokens_per_byte == pytest.approx(1 / 6)
    assert figure.to_json()["fertility"] == 1.5


def test_rates_of_nothing_are_zero():
    figure = DocumentGroup("none", 0, 0, 0, 0, 0)
    rates = {name: value for name, value in figure.to_json().items() if name not in ("name", "documents")}
    assert set(rates.values()) == {0}
    head, (row,) = group_table("source", (figure,), figure)
    assert len(head) == len(row) and row[3] == "–"


def test_groups_have_their_share_of_all():
    head, rows = group_table("language", (group("en"), group("de", tokens=10)), group(tokens=40))
    assert head[0] == "language" and [row[3] for row in rows] == ["75.0 %", "25.0 %"]


def test_a_token_is_shown_with_its_white_space():
    assert token_text(TopToken(1, " a\n", 3)) == "' a\\n'"
    assert token_text(TopToken(1, "\x1b", 3)) == "'\\x1b'"
    assert token_text(TopToken(17, None, 3)) == "token 17"


@given(st.integers(0, 500))
def test_units_are_spread_evenly(units):
    chosen = spread(units)
    assert chosen == sorted(set(chosen)) and len(chosen) == min(units, 32)
    assert all(0 <= unit < units for unit in chosen)
    gaps = np.diff([*chosen, units]) if units else np.zeros(1)
    assert gaps.max() - gaps.min() <= 1


def test_a_pair_of_rules_is_compared_with_the_rarer_one():
    assert RulePair(("a.b", "a.c"), 5, 10, 50).of_fewer == 0.5


def test_training_is_a_row_per_stage_and_one_per_folder():
    values: dict[str, Any] = dict.fromkeys(Scheduled._fields, 7) | {"stage": "main", "steps": 100, "first_step": 1}
    when = Scheduled(**values)
    stages = [Trained(when, (Read("shards", 0.75, 1000, 64000, 1.5), Read("code", 0.25, 10, 640, 40.0)))]
    (row,) = training_table(stages)
    assert row[:3] == ["main", "100", "1"] and len(row) == 6
    assert folders_table(stages) == [
        ["main", "shards", "75.0%", "1,000", "64,000", "1.50"],
        ["main", "code", "25.0%", "10", "640", "40.00"],
    ]


def call(**values):
    about = {"started": "2026-11-22T15:35:33Z", "ended": "2026-11-22T15:38:50Z", "seconds": 197.0, "workers": 4}
    about |= {
        "outcome": "finished",
        "fingerprint": "ab" * 20,
        "machine": {"host": "node"},
        "versions": {"corpusmill": "1.0"},
    }
    return about | {"stages": {"pass-1": {"done": 3}, "shards": {"done": 2}}} | values


def test_calls_are_a_row_each():
    killed = call(ended=None, seconds=None, outcome=None, machine={})
    head, rows = calls_table(Calls(197.0, 1, [call(), killed]))
    assert dict(zip(head, rows[0])) == {
        "begun (UTC)": "2026-11-22, 15:35",
        "outcome": "finished",
        "units done": "5",
        "elapsed": "3 min 17 s",
        "workers": "4",
        "host": "node",
        "corpusmill": "1.0",
        "recipe": "abababababab",
    }
    assert rows[1][1:4] == ["no end recorded", "–", "–"] and rows[1][5] == "–"
    early = call()
    del early["stages"]
    assert calls_table(Calls(1.0, 0, [early]))[1][0][2] == "–"


def test_the_period_is_from_the_first_to_the_last():
    assert (
        Calls(0, 0, [call(), call(ended="2026-11-23T01:00:00Z")]).period == "2026-11-22, 15:35 to 2026-11-23, 01:00 UTC"
    )
    assert period("2026-11-22T15:35:33Z", None) == "2026-11-22, 15:35 UTC"
    assert period("2026-11-22T15:35:01Z", "2026-11-22T15:35:59Z") == "2026-11-22, 15:35 UTC"


@pytest.mark.parametrize(
    "machine, expected",
    [
        (
            {"cpus": 8, "cpus_usable": 8, "cpu": "x86", "memory": 16e9, "system": "Linux"},
            "8 CPUs (x86) · 16.0 GB of memory · Linux",
        ),
        ({"cpus": 8, "cpus_usable": 2, "cpu": "x86", "system": "Linux"}, "2 of 8 CPUs (x86) · Linux"),
        (
            {"cpus": 1, "cpus_usable": 1, "cpu": "a", "memory": 16e9, "memory_limit": 1e9, "system": "L"},
            "1 CPUs (a) · 16.0 GB of memory, limited to 1.0 GB · L",
        ),
    ],
)
def test_a_machine_in_words(machine, expected):
    assert machine_in_words(machine) == expected


GIT = {
    "path": "recipes/a.yaml",
    "remote": "git@made.org:me/it",
    "commit": "0123456789abcdef",
    "dirty": False,
    "tracked": True,
}


@pytest.mark.parametrize(
    "change, expected",
    [
        ({}, "recipes/a.yaml of git@made.org:me/it, commit 0123456789ab"),
        ({"dirty": True}, "recipes/a.yaml of git@made.org:me/it, commit 0123456789ab, with uncommitted changes"),
        ({"dirty": None}, "recipes/a.yaml of git@made.org:me/it, commit 0123456789ab, changes not known"),
        ({"tracked": False}, "recipes/a.yaml of git@made.org:me/it, commit 0123456789ab, the file is not in it"),
        ({"remote": ""}, "recipes/a.yaml, no remote, commit 0123456789ab"),
    ],
)
def test_a_repository_in_words(change, expected):
    assert git_in_words(GIT | change) == expected
    assert git_in_words(None) is None and git_in_words({}) is None


def test_a_command_has_its_program_by_name():
    assert command_in_words(["/a/b/corpusmill", "run", "x.yaml"]) == ["corpusmill", "run", "x.yaml"]
    assert command_in_words(["/a/corpusmill/__main__.py", "run"]) == ["corpusmill", "run"]
    assert command_in_words([]) == ["", *[]]


@pytest.mark.parametrize(
    "check, expected",
    [
        (None, None),
        (
            EngineCheck(("bpe-1",), "bpe-1", 0, 0),
            "Token ids are from bpe-1, the reference tokenizer itself, so nothing was compared.",
        ),
        (
            EngineCheck(("fast",), "slow", 1, 0),
            "Token ids are from fast. 1 document was also encoded by the reference tokenizer (slow): all identical.",
        ),
        (
            EngineCheck(("fast", "faster"), None, 2, 1),
            "Token ids are from fast and faster. 2 documents were also encoded by the reference tokenizer: 1 DIFFER.",
        ),
        (EngineCheck((), None, 5, 0), "5 documents were also encoded by the reference tokenizer: all identical."),
    ],
)
def test_whether_engines_agree_in_words(check, expected):
    assert in_words(check) == expected


def side(documents, words):
    return SideTexts(documents, {"words": words}, {})


def test_lengths_of_both_sides_are_rows():
    from corpusmill.report.figures.lengths import length

    some, none = length(3, 30, {10: 3}, 8, 12), length(0, 0, {}, 0, 0)
    head, rows = lengths_table({"input": side(3, some), "output": side(0, none)})
    assert [row[0] for row in rows] == ["words, input", "words, output"]
    assert rows[0][1:3] == ["30", "10.0"] and rows[0][4:] == ["8", "12"] and rows[1][4:] == ["–", "–"]
    assert len(head) == 6
    drawn = histogram({"input": side(3, some), "output": side(0, none)}, "words")
    assert sum(drawn.counts["input"]) == 3 and not sum(drawn.counts["output"])
    assert histogram({"input": side(0, none), "output": side(0, none)}, "words") is None


HOSTS = st.sampled_from(
    ["a.example.co.uk", "b.example.co.uk", "example.co.uk", "made.org", "www.made.org", "10.0.0.1", "localhost"]
)


@given(st.lists(st.tuples(HOSTS, st.integers(0, 9), st.integers(0, 9))))
def test_hosts_are_added_up_by_domain(rows):
    documents, sizes = Counter[str](), Counter[str]()
    for host, count, size in rows:
        domain = {
            "a.example.co.uk": "example.co.uk",
            "b.example.co.uk": "example.co.uk",
            "www.made.org": "made.org",
        }.get(host, host)
        documents[domain] += count
        sizes[domain] += size
    assert by_domain(rows) == {name: [documents[name], sizes[name]] for name in {registered(row[0]) for row in rows}}


@given(st.integers(0, 100), st.integers(0, 100), st.booleans())
def test_the_interval_of_a_share_holds_it(a, b, is_sample):
    share = Share(min(a, b), max(a, b), is_sample)
    low, high = share.interval
    assert 0 <= low <= share.value + 1e-12 and share.value - 1e-12 <= high <= 1
    if not is_sample:
        assert low == high == share.value
    record = share.to_json()
    assert record["documents"] == share.count and record["of"] == share.of


def test_more_documents_make_a_narrower_interval():
    widths = [Share(n // 10, n).interval for n in (10, 100, 1000, 10000)]
    spans = [high - low for low, high in widths]
    assert spans == sorted(spans, reverse=True)


def test_remaining_duplicates_are_json():
    near = Share(1, 10)
    assert RemainingDuplicates(9, 9, 1, near).to_json() == {
        "documents": 9,
        "compared": 9,
        "exact": 1,
        "near": near.to_json(),
    }
    assert RemainingDuplicates(9, 9, 1, None).to_json()["near"] is None
