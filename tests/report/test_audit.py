"""An audit says of each flaw that is put into a run that it is there, and of a run without it that it is not."""

import json
import re
import shutil
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corpusmill
from corpusmill.errors import InputError, ResumeError
from corpusmill.execute.serial import Serial
from corpusmill.report.audit import sample
from corpusmill.report.audit.bounds import Bounds, parse
from corpusmill.report.audit.checks import AUDIT_CHECKS
from corpusmill.report.audit.prompt import fenced, review_prompt
from corpusmill.report.figures.sampled import sampled
from corpusmill.report.tables import RunTables
from made_run import HOSTILE, HOSTILE_URL, made_run, prose, unfinish


def audited(tmp_path, texts, steps, *, urls=None, more="", bounds=(), size=1000, **columns):
    """The audit of a run of these texts."""
    tmp_path.mkdir(exist_ok=True)
    records = [{"text": text} | ({"url": urls[i]} if urls else {}) for i, text in enumerate(texts)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n" + columns.get("lines", ""))
    recipe = {"name": "a", "read": [{"jsonl": str(tmp_path / "a.jsonl")}], "steps": steps, "write": ["jsonl"]}
    recipe["run"] = {"error_budget": 100}
    if any("tokenize" in str(step) for step in steps):
        recipe["write"] = ["shards"]
    (tmp_path / "a.yaml").write_text(json.dumps(recipe | json.loads(more or "{}")))
    done = corpusmill.run(tmp_path / "a.yaml", folder=tmp_path / "run", executor=Serial())
    return corpusmill.audit(done, bounds=bounds, sample=size)


def good(n, words=90):
    random = Random(3)
    return [prose(random, words) for _ in range(n)]


def texts(*each):
    return pa.array(each, pa.large_string())


def test_the_made_run_has_these_flaws():
    result = corpusmill.audit(made_run())
    assert {check.name for check in result.checks} == set(AUDIT_CHECKS)
    assert {check.name for check in result.red_flags} == {"chars_per_token", "dead_letters"}
    assert result.documents == result.sample == 36
    duplicates = result["duplicates_found"]
    assert duplicates.verdict == "not measured" and duplicates.seen.startswith("8 of 44 documents")
    measured = corpusmill.audit(made_run(), bounds=["duplicates_found=0.2.."])["duplicates_found"]
    assert measured.value == pytest.approx(8 / 44) and measured.verdict == "red flag"
    assert result["duplicates_left"].value == 0
    assert result["mix_off_plan"].verdict == result["contamination"].verdict == "not measured"
    assert result["utilisation"].verdict == "ok" and result["utilisation"].value > 0.98
    assert result["dead_letters"].verdict == "red flag" and result["dead_letters"].value == pytest.approx(2 / 59)


def test_an_audit_is_data_and_the_same_each_time():
    one, other = corpusmill.audit(made_run()), corpusmill.audit(made_run())
    assert one == other
    assert json.loads(json.dumps(one.to_json()))["checks"][0]["name"] == "duplicates_found"
    with pytest.raises(KeyError):
        one["no such check"]


def test_duplicates_in_the_output_are_found_without_a_dedup(tmp_path):
    base = good(20)
    result = audited(tmp_path, [*base, *base[:3], base[4] + " Again."], ["clean/normalize"])
    check = result["duplicates_left"]
    assert check.value == pytest.approx(4 / 24) and check.verdict == "red flag" and len(check.examples) == 3
    assert "dedup/minhash" in check.advice
    assert result["duplicates_found"].verdict == "not measured"
    assert "no step looks for duplicates" in result["duplicates_found"].seen


def test_a_sample_is_said_to_be_one(tmp_path):
    result = audited(tmp_path, good(20), ["clean/normalize"], size=5)
    assert (result.sample, result.documents) == (5, 20)
    assert "a sample of 5 of 20 documents" in result["residual_html"].seen
    assert "at least as many" in result["duplicates_left"].seen


def test_markup_personal_data_and_stubs_are_found(tmp_path):
    base = good(10)
    bad = [f"<div class='x'>{base[0]}</div>", f"{base[1]} Write to jane@host.example.", "Next page"]
    result = audited(tmp_path, [*base[2:], *bad], [])
    flagged = {check.name: check for check in result.red_flags}
    assert {"residual_html", "pii_left", "near_empty"} <= set(flagged)
    for name in ("residual_html", "pii_left", "near_empty"):
        assert flagged[name].value == pytest.approx(1 / 11) and len(flagged[name].examples) == 1
    assert "email in 1" in flagged["pii_left"].seen and "kinds: [email, ip]" in flagged["pii_left"].advice


@pytest.mark.parametrize(
    ("parameters", "left"),
    [
        ({"placeholders": {"email": "email@example.com", "ip": "22.214.171.124"}}, set()),
        ({"action": "pseudonym", "key": "key"}, set()),
        ({"actions": {"ip": "leave"}}, {"ip"}),  # that an address is looked for does not hide it
        ({"kinds": ["ip"], "placeholders": {"ip": "22.214.171.124"}}, {"email"}),
    ],
)
def test_what_a_step_puts_in_place_of_personal_data_is_none(tmp_path, monkeypatch, parameters, left):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "key").write_bytes(b"k" * 64)
    base = good(8)
    some = f"{base[0]} Write to jane.doe@host.example.org, or from 93.184.216.34, by noon."
    step = {"redact/pii": {"kinds": ["email", "ip"], "forms": "plain"} | parameters}
    result = audited(tmp_path, [*base[1:], some], [step])["pii_left"]
    seen = {kind for kind in ("email", "ip") if f"{kind} in 1" in result.seen}
    assert (seen, bool(result.value)) == (left, bool(left))
    personal = sampled(RunTables(tmp_path / "run")).personal
    assert {kind for kind in ("email", "ip") if kind in personal and personal[kind][1].count} == left


def test_one_domain_and_one_template_are_found(tmp_path):
    urls = [f"https://{'www' if i % 2 else 'shop'}.big.co.uk/{i}" for i in range(4)]
    urls += [f"https://site{i}.example/x" for i in range(6)]
    pages = [f"Product {i}: the best one that you can buy. {text}" for i, text in enumerate(good(10))]
    result = audited(tmp_path, pages, [], urls=urls)
    assert (
        result["domain_share"].value == pytest.approx(0.4, abs=0.03)
        and "big.co.uk: 40.0 %" in result["domain_share"].seen
    )
    assert result["one_template"].value == 1.0


def test_a_step_that_drops_most_and_one_that_drops_nothing_are_named(tmp_path):
    steps = [
        {"filter/gopher_quality": {"min_words": 80, "min_stop_words": 1}},
        "dedup/exact",
        {"dedup/minhash": {"mark": True}},
    ]
    result = audited(tmp_path, [*good(3), *good(7, 30)], steps)
    assert (
        result["step_drops"].value == pytest.approx(0.7) and "gopher_quality drops 7 of 10" in result["step_drops"].seen
    )
    assert result["idle_steps"].value == 1 and result["idle_steps"].seen.startswith("exact dropped nothing")


def test_a_source_and_a_language_that_vanish_are_named(tmp_path):
    german = (
        "Der Fluss fließt langsam durch das Tal und an der alten Mühle vorbei, bis er das Meer erreicht, Nummer {}."
    )
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": german.format(i)}) + "\n" for i in range(30)))
    more = {"read": [{"jsonl": {"paths": str(tmp_path / f"{n}.jsonl"), "source": n}} for n in "ab"]}
    steps = ["annotate/language", {"filter/gopher_quality": {"min_words": 40, "min_stop_words": 1}}]
    result = audited(tmp_path, good(5), steps, more=json.dumps(more))
    assert result["sources_vanished"].seen == "b (30 documents read)"
    assert result["languages_vanished"].seen == "de (30 documents)"
    # What a filter is meant to drop has not vanished.
    steps = [{"filter/language": {"languages": ["en"], "min_score": 0}}]
    result = audited(tmp_path, good(5), steps, more=json.dumps(more))
    assert result["languages_vanished"].verdict == "ok"


def test_questions_of_benchmarks_that_stay_are_counted(tmp_path):
    question = "which of these rivers runs from the mountain through the old garden to the silver sea"
    (tmp_path / "q.jsonl").write_text(json.dumps({"question": question, "answer": "none", "id": "1"}) + "\n")
    pages = [*good(3), f"{good(1)[0]} {question} {good(1)[0]}"]
    for action, left, verdict in (("mark", 1, "red flag"), ("drop", 0, "ok"), ("cut", 0, "ok")):
        step = {"decontaminate/ngrams": {"benchmarks": str(tmp_path / "q.jsonl"), "action": action}}
        check = audited(tmp_path, pages, [step])["contamination"]
        assert (check.value, check.verdict) == (left, verdict), action
        assert check.seen.startswith("1 document with benchmark questions")


def test_padding_and_a_mix_off_plan_are_flagged(tmp_path):
    more = {"read": [{"jsonl": {"paths": str(tmp_path / "a.jsonl"), "source": n}} for n in ("a", "b")]}
    (tmp_path / "b.jsonl").write_text("")
    mix = {"mix/sources": {"budget": 500, "weights": {"a": 9, "b": 1}}}
    result = audited(
        tmp_path, good(20), [mix, "tokenize/bpe", {"pack/one_per_row": {"length": 512}}], more=json.dumps(more)
    )
    assert result["utilisation"].verdict == "red flag" and result["utilisation"].value < 0.5
    # Documents are drawn whole: a tenth of 500 tokens is half of one.
    assert result["mix_off_plan"].verdict == "red flag" and "planned 10.0 %, drawn 0.0 %" in result["mix_off_plan"].seen


def test_a_share_of_few_documents_is_no_flag_unless_more_than_chance_makes_it_one(tmp_path):
    """1 of 60 is 1.7 %, and may as well be less than 1 %; 4 of 60 may not, and a bound of one's own is kept to."""
    pages = good(60)
    one, four = (
        audited(tmp_path / str(n), [*(f"{text} <br><b>New</b>" for text in pages[:n]), *pages[n:]], ["clean/normalize"])
        for n in (1, 4)
    )
    assert one["residual_html"].verdict == "ok" and one["residual_html"].seen.endswith("too few to tell")
    assert four["residual_html"].verdict == "red flag"
    own = corpusmill.audit(tmp_path / "1" / "run", bounds=["residual_html=..0.01"])["residual_html"]
    assert own.verdict == "red flag" and own.value == pytest.approx(1 / 60)


CHINESE = "船从港口开往大海，每天中午准时出发，带着信件和报纸，傍晚再回来。"


def test_bounds_are_those_of_the_kind_of_input(tmp_path):
    """Bytes as tokens, Chinese, a corpus of one row, few domains and a vocabulary that is larger than the corpus."""
    small = [{"pack/concat": {"length": 4096}}]
    of_bytes = audited(tmp_path / "bytes", good(5), ["tokenize/bytes", *small])
    assert of_bytes["chars_per_token"].verdict == of_bytes["vocabulary_use"].verdict == "not measured"
    assert of_bytes["utilisation"].verdict == "ok" and of_bytes["utilisation"].value < 0.9
    pages = [f"{n} {CHINESE * 3}" for n in range(12)]
    chinese = audited(tmp_path / "zh", pages, ["tokenize/bpe", *small])["chars_per_token"]
    assert 0.3 < chinese.value < 1 and chinese.bounds.low == pytest.approx(2 * 1.2 / 2.8, rel=0.1)
    urls = [f"https://site{n % 20}.example/{n}" for n in range(40)]
    domains = audited(tmp_path / "sites", good(40), ["clean/normalize"], urls=urls)["domain_share"]
    assert domains.verdict == "ok" and 0.05 <= domains.value < 0.1 and domains.bounds == Bounds(high=0.25)


def test_a_bound_of_ones_own_is_a_red_flag_and_none_is_none():
    result = corpusmill.audit(made_run(), bounds=["duplicates_found=0.3..", "dead_letters=.."])
    assert result["duplicates_found"].verdict == "red flag" and result["duplicates_found"].bounds == Bounds(0.3, None)
    assert result["dead_letters"].verdict == "ok"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("chars_per_tokn=2..6", r'there is no check "chars_per_tokn"; did you mean "chars_per_token"\?'),
        ("chars_per_token=4", r"is a range, as in chars_per_token=2\.\.6; either end may be left out"),
        ("chars_per_token", "is a range"),
        ("chars_per_token=6..2", "begins above its end"),
    ],
)
def test_a_bound_that_is_none_is_explained(setting, message):
    with pytest.raises(InputError, match=message):
        parse([setting], {name: rule.bounds for name, rule in AUDIT_CHECKS.items()})


def test_an_unfinished_run_is_not_audited(tmp_path):
    folder = Path(shutil.copytree(made_run(), tmp_path / "run"))
    unfinish(folder, "pass-2")
    with pytest.raises(ResumeError, match="is not finished"):
        corpusmill.audit(folder)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <b>bold</b> word", True),
        ("see <a href='x'>this</a>", True),
        ("<br/>", True),
        ("fish &amp; chips", True),
        ("if a < b and c > d", False),
        ("Dear <your name>, <EMAIL>", False),
        ("AT&T; R&D", False),
        ("std::vector<int>", False),
    ],
)
def test_markup_is_elements_and_entities_of_html(text, expected):
    assert sample.has_html(texts(text)).tolist() == [expected]


def test_a_template_is_the_most_frequent_opening():
    pages = ["Room 12 of the old hotel by the sea", "room 7: of the old hotel by the lake", "Something else", ""]
    assert sample.one_template(texts(*pages)).tolist() == [True, True, False, False]
    assert not sample.one_template(texts("a", "b", "", "")).any()
    assert sample.one_template(texts()).tolist() == []


def test_a_prompt_holds_the_facts_and_the_documents_and_is_bounded():
    result = corpusmill.audit(made_run())
    text = review_prompt(made_run(), result, samples=2, chars=100)
    assert text == review_prompt(made_run(), result, samples=2, chars=100)
    for heading in (
        "## Documents by step",
        "## Checks",
        "## Recipe",
        "### Kept",
        "### Dropped by gopher_quality",
        "## Answer",
    ):
        assert f"\n{heading}\n" in text
    assert "min_words 12" in text
    assert "similarity: 1.000" in text and "closest to: gopher_quality.min_words" in text
    longer = review_prompt(made_run(), result, samples=2, chars=10_000)
    assert len(text) < len(longer)
    assert "### Dropped by" not in review_prompt(made_run(), result, samples=0)


def test_nothing_in_a_document_can_leave_its_block():
    result = corpusmill.audit(made_run())
    text = review_prompt(made_run(), result, samples=100, chars=1000, raw=True)
    assert "<script>alert(1)</script>" in text and "\x1b" not in text and "\u202e" not in text
    inside, fence = False, ""
    for line in text.splitlines():
        if inside:
            inside = line != fence
            assert line == fence or line.startswith("| ")
        elif opened := re.fullmatch("(~{4,}) text", line):
            inside, fence = True, opened[1]
        else:
            assert HOSTILE[:25] not in line and HOSTILE_URL not in line
    assert not inside


@given(st.text("~`|\na# ", max_size=60))
def test_a_fence_is_longer_than_what_it_holds(text):
    first, *lines, last = fenced(text).split("\n")
    assert first == f"{last} text" and last not in text
    assert "\n".join(line.removeprefix("| ") for line in lines) == text


def test_personal_data_in_a_prompt_is_redacted_unless_asked_for(tmp_path):
    pages = [f"{text} Write to jane{i}@host.example or call +44 20 7946 0958." for i, text in enumerate(good(3))]
    result = audited(tmp_path, pages, [], urls=[f"https://x.example/?mail=jo{i}@host.example" for i in range(3)])
    text = review_prompt(tmp_path / "run", result, samples=3)
    assert "@host.example" not in text and "7946" not in text and "<PHONE>" in text
    cut = review_prompt(tmp_path / "run", result, samples=3, chars=len(pages[0]) - 40)
    assert "@host" not in cut
    assert "jane1@host.example" in review_prompt(tmp_path / "run", result, samples=3, raw=True)
