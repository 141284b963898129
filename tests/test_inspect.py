"""The inspector: every address, without a browser. What a browser shows is in test_inspect_page.py."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from functools import partial
from importlib.resources import files
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpusmill
from corpusmill.errors import CorpusmillError, InputError, MissingExtraError
from corpusmill.execute.serial import Serial
from corpusmill.inspect.accuracy import Side
from corpusmill.inspect.blind import DOCUMENTS_PER_ROUND, Review, agreement
from corpusmill.inspect.listing import Listing
from corpusmill.inspect.marks import MarkedSpan, marks, parts
from corpusmill.inspect.sliders import NULL_CODE, Slider
from corpusmill.inspect.thresholds import Thresholds
from corpusmill.loader import TokenLoader
from corpusmill.models.tokenizer import load
from corpusmill.recipe.model import Recipe
from corpusmill.report import samples
from corpusmill.report.explain import history
from corpusmill.report.rule_counts import rule_counts
from corpusmill.report.tables import RunTables
from corpusmill.report.visible import visible
from corpusmill.report.what_if import what_if
from corpusmill.shards import open_shards
from corpusmill.steps import C4
from corpusmill.steps.redact.pii import RedactPii
from corpusmill.steps.verdict import COMPARE
from inspected import TOKEN, asking
from made_run import HOSTILE, HOSTILE_URL, SHORT, made_corpus, made_run, records

pytest.importorskip("starlette", reason="the extra inspect is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the made run, which takes marks."""
    return Path(shutil.copytree(made_run(), tmp_path_factory.mktemp("inspect") / "run"))


@pytest.fixture(scope="module")
def inspector(folder):
    from corpusmill.inspect.app import Inspector

    return Inspector(RunTables(folder))


@pytest.fixture(scope="module")
def ask(inspector):
    """Ask the application as a browser does: status, headers, content. `asked` is sent as JSON."""
    from corpusmill.inspect.app import app

    return asking(app(inspector, TOKEN))


@pytest.fixture(scope="module")
def api(ask):
    """The JSON that a question is answered with; raises InputError of what an error says."""

    def question(name, asked=None, /, **query):
        status, headers, content = ask(f"/{TOKEN}/api/{name}", asked, **query)
        assert headers["content-type"] == "application/json"
        said = json.loads(content)
        if status != 200:
            assert status == 400 and list(said) == ["error"]
            raise InputError(said["error"])
        return said

    return question


def test_only_who_has_the_token_gets_anything(ask):
    assert ask(f"/{TOKEN}/")[0] == 200
    for path in ("/", "/wrong/", "/wrong/api/run", f"/{TOKEN}x/app.js", "/api/run"):
        assert ask(path)[0] == 404, path
    assert ask("/wrong/api/mark", {})[0] == 404
    assert ask(f"/{TOKEN}/", host=b"evil.example")[0] == 400  # a name that was made to point here


def test_a_page_may_load_nothing_but_its_own_files(ask):
    for name, kind in (
        ("", "text/html"),
        ("app.js", "text/javascript"),
        ("style.css", "text/css"),
        ("api/run", "application/json"),
    ):
        status, headers, _ = ask(f"/{TOKEN}/{name}")
        assert status == 200 and headers["content-type"].startswith(kind)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"


def test_the_page_has_no_inline_script_no_other_host_and_no_html_of_texts():
    pages = {page.name: page.read_text("utf-8") for page in files("corpusmill.inspect").joinpath("page").iterdir()}
    assert "index.html" in pages and len(pages) > 8
    for name, text in pages.items():
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|DOMParser|srcdoc", text), name
        assert set(re.findall(r"https?://[^\"' )]*", text)) <= {"http://www.w3.org/2000/svg"}, name
    assert re.findall(r"<script[^>]*>[^<]+", pages["index.html"]) == []
    assert not re.search(r" on\w+=| style=", pages["index.html"])


def test_every_reason_lists_the_documents_that_it_dropped_first(api, folder):
    reasons = {reason: count.first for reason, count in rule_counts(RunTables(folder)).items() if count.first}
    assert dict(api("run")["facets"]["reason"]) == reasons
    for reason, count in reasons.items():
        found = api("documents", reason=reason)
        assert found["documents"] == count and found["kept"] == 0
        assert all(row["dropped_by"] == reason.partition(".")[0] and not row["kept"] for row in found["rows"])
    short = api("documents", reason="gopher_quality.min_words")["rows"][0]
    assert re.fullmatch(r"gopher_quality.min_words: content_words \d+, below 20", short["because"]) and SHORT


def test_pages_have_every_document_once(api):
    size, count = (api("documents")[name] for name in ("size", "documents"))
    pages = [api("documents", page=page)["rows"] for page in range(-(-count // size) + 1)]
    ids = [row["id"] for rows in pages for row in rows]
    assert len(ids) == len(set(ids)) == count and pages[-1] == []
    outcomes = dict(api("run")["facets"]["outcome"])
    assert sum(outcomes.values()) == count and outcomes["kept"] == api("documents", outcome="kept")["documents"]


def test_filters_narrow_together(api):
    both = api("documents", source="web", domain="made.org", outcome="kept")
    assert 0 < both["documents"] < api("documents", source="web")["documents"]
    assert {row["source"] for row in both["rows"]} == {"web"}
    assert api("documents", domain="nowhere.org")["documents"] == 0
    assert api("documents", name="MADE.org/31")["documents"] == 1
    signal = "gopher_quality.content_words"
    high = api("documents", signal=signal, low="20", sort="signal")
    values = [row["value"] for row in high["rows"]]
    assert values == sorted(values, reverse=True) and values[-1] >= 20
    tokens = [row["tokens"] for row in api("documents", sort="-tokens", outcome="kept")["rows"]]
    assert tokens == sorted(tokens)


def test_texts_are_searched_in_either_case(api):
    for part in ("ALERT(1)", "\u202e", "River"):
        expected = [record["url"] for record in records() if part.lower() in record["text"].lower()]
        found = api("documents", text=part, source="web")
        assert found["documents"] == len(expected)
    assert api("documents", text="' OR 1=1 --")["documents"] == 0


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"outcome": "keptt"}, 'no outcome "keptt"'),
        ({"signal": "gopher_quality.content_word"}, 'did you mean "gopher_quality.content_words"'),
        ({"signal": "gopher_quality.content_words", "low": "x"}, 'low must be a number; got "x"'),
        ({"page": "-1"}, "page must be a whole number"),
    ],
)
def test_a_wrong_question_is_told_what_is_wrong(api, query, message):
    with pytest.raises(InputError, match=message):
        api("documents", **query)


def test_the_list_that_is_seen_can_be_exported(ask, api):
    status, headers, content = ask(f"/{TOKEN}/documents.jsonl", step="minhash")
    rows = [json.loads(line) for line in content.splitlines()]
    assert status == 200 and headers["content-disposition"] == 'attachment; filename="documents.jsonl"'
    assert [row["id"] for row in rows] == [row["id"] for row in api("documents", step="minhash")["rows"]]
    assert rows[0]["signals"]["gopher_quality.content_words"] > 0
    assert ask(f"/{TOKEN}/documents.jsonl", outcome="x")[0] == 400
    assert ask(f"/{TOKEN}/documents.jsonl", name="there is none")[2] == b""


def test_a_hostile_document_is_text_and_its_control_characters_have_names(api):
    (row,) = api("documents", text="alert(2)")["rows"]
    assert row["url"] == HOSTILE_URL
    found = api("document", id=row["id"], file=row["file"], position=row["position"])
    text = "".join(part for part, _ in found["parts"])
    assert text.startswith(visible(HOSTILE)) and "\x1b" not in text and "\u202e" not in text
    gopher = next(step for step in found["steps"] if step["step"] == "gopher_quality")
    hashes = next(rule for rule in gopher["rules"] if rule["rule"] == "max_hash_ratio")
    assert (
        hashes["threshold"] == 0.1 and hashes["value"] > 0.1 and not hashes["passes"] and gopher["verdict"] == "drops"
    )


def test_an_unknown_document_is_an_error(api):
    with pytest.raises(InputError, match='no document with the id "nothing"'):
        api("document", id="nothing")


def test_a_duplicate_stands_beside_what_is_kept_instead(api):
    rows = api("documents", step="minhash")["rows"]
    for row in rows:
        pair = api("pair", id=row["id"])
        assert pair["step"] == "minhash" and 0 < pair["similarity"] < 1 and pair["duplicate_of"]["kept"]
        one, other = ([part for part, same in pair[side]["parts"] if not same] for side in ("document", "duplicate_of"))
        assert one or other
        whole = "".join(part for part, _ in pair["document"]["parts"])
        assert whole == "".join(part for part, _ in api("document", id=row["id"])["parts"])
    kept = api("documents", outcome="kept")["rows"][0]
    with pytest.raises(InputError, match="is not a duplicate"):
        api("pair", id=kept["id"])


def test_an_estimate_at_an_edge_is_what_a_run_would_keep(api, folder):
    found = api("sliders", stage="pass-1")
    keys = [slider["key"] for slider in found["sliders"]]
    assert keys[0] == "gopher_quality.min_words" and "fineweb.max_short_lines" in keys
    for slider in (found["sliders"][0], found["sliders"][keys.index("fineweb.max_short_lines")]):
        edges = slider["edges"]
        for threshold in {edges[0], edges[len(edges) // 2], edges[-1]}:
            moved = {slider["key"]: threshold}
            said = api("estimate", {"stage": "pass-1", "moved": moved})
            value = int(threshold) if slider["whole"] else threshold
            before, after = what_if(folder, [f"{slider['key']}={value}"], 0).kept
            assert said["before"] == {"documents": before.documents, "tokens": before.tokens}
            assert said["after"] == {"documents": after.documents, "tokens": after.tokens}
            kept = said["histograms"]["gopher_quality.min_words"]["kept"]
            assert sum(kept) == after.documents


def test_the_exact_count_has_documents_at_the_border(api):
    said = api("exact", {"moved": {"gopher_quality.min_words": 8}})
    assert said["newly_kept"]["gopher_quality.min_words"]["documents"] > 0
    assert said["border"][0]["threshold"] == 8 and said["border"][0]["values"]["content_words"] >= 8
    off = api("exact", {"moved": {"gopher_quality.min_words": None}})
    assert off["kept"] == api("exact", {"moved": {"gopher_quality.min_words": 0}})["kept"]
    estimated = api("estimate", {"stage": "pass-1", "moved": {"gopher_quality.min_words": None}})
    assert estimated["after"]["documents"] == off["kept"][1]["documents"]


def test_thresholds_are_saved_as_a_recipe(api):
    said = api("recipe", {"moved": {"gopher_quality.min_words": 8, "fineweb.max_short_lines": 0.5}})
    recipe = Recipe.parse(said["recipe"])
    assert said["name"] == "made.yaml"
    assert (recipe.steps[0].min_words, recipe.steps[1].max_short_lines) == (8, 0.5)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"stage": "pass-9", "moved": {}}, 'no pass "pass-9" has numeric rules. Passes that have: pass-1.'),
        ({"stage": "pass-1", "moved": {"gopher_quality.min_word": 3}}, 'did you mean "gopher_quality.min_words"'),
        ({"stage": "pass-1", "moved": {"gopher_quality.min_words": "3"}}, "a threshold must be a finite number"),
        (b"{", "a request must be a JSON object"),
    ],
)
def test_a_wrong_move_is_told_what_is_wrong(api, asked, message):
    with pytest.raises(InputError, match=message):
        api("estimate", asked)


@pytest.mark.parametrize(
    "value",
    [1e308, -1e308, 2**63, -(2**64), 5e-324, float("inf"), float("nan"), 10**400, True],
    ids=lambda value: f"{value!s:.25}",
)
def test_thresholds_at_the_ends_of_what_numbers_can_be(value):
    """Answered, or refused in words; whole numbers and others."""
    thresholds = Thresholds(RunTables(made_run()))
    for key in ("gopher_quality.min_words", "fineweb.max_short_lines"):
        for ask in (partial(thresholds.estimate, "pass-1"), thresholds.exact, thresholds.recipe):
            try:
                ask({key: value})
            except CorpusmillError as error:
                assert "threshold" in str(error) or "min_words" in str(error)


numbers = st.one_of(st.none(), st.floats(-5, 5), st.integers(-3, 3).map(float), st.just(float("nan")))


@settings(max_examples=30)
@given(
    values=st.lists(numbers, max_size=30),
    edges=st.sets(st.integers(-3, 3).map(float), min_size=1),
    drops=st.sampled_from(list(COMPARE)),
)
def test_codes_drop_what_the_values_drop(values, edges, drops):
    slider = Slider("a.b", "a.c", drops, min(edges), False, np.array(sorted(edges)))
    codes = slider.codes(pa.array(values, pa.float64()))
    for edge in edges:
        expected = pc.fill_null(COMPARE[drops](pa.array(values, pa.float64()), edge), False)
        # NaN compares as false in every way
        assert slider.dropped(edge)[codes].tolist() == expected.to_pylist()
    assert not slider.dropped(None)[codes].any() and len(codes) <= NULL_CODE


spans = st.tuples(st.integers(0, 20), st.integers(1, 8)).map(lambda pair: MarkedSpan(pair[0], sum(pair)))


@settings(max_examples=30)
@given(text=st.text(min_size=30), found=st.dictionaries(st.sampled_from("xyz"), st.lists(spans, max_size=4)))
def test_parts_are_the_text_and_each_has_the_marks_that_cover_it(text, found):
    made = parts(text, found)
    assert "".join(part for part, _ in made) == visible(text)
    plain = parts("a" * len(text), found)  # where no character has a longer name
    at = 0
    for part, names in plain:
        for place in range(at, at + len(part)):
            covering = [name for name, own in found.items() if any(span.start <= place < span.end for span in own)]
            assert names == covering
        at += len(part)


def test_marks_are_where_a_reader_would_point():
    text = (
        "Write to jané@host.example soon.\n"
        "• a bullet\n"
        "This line is here twice, word for word.\n"
        "This line is here twice, word for word.\n"
        "We use cookies and the privacy policy of all our partners.\n"
        "It trails off...\n"
    )
    row = {"url": None, "metadata": None}
    found = marks(text.replace("é", "e"), row, [RedactPii()], [C4()])
    seen = {name: [text[span.start : span.end] for span in own] for name, own in found.items()}
    assert [one.replace("é", "e") for one in seen["personal data: email"]] == ["jane@host.example"]
    assert seen["repeated line"] == ["This line is here twice, word for word."]
    assert seen["repeated words"] == ["This line is here twice, word for word."]
    assert seen["bullet line"] == ["• a bullet"] and seen["ellipsis line"] == ["It trails off..."]
    assert seen["C4 removes: policy"] == ["We use cookies and the privacy policy of all our partners."]
    assert seen["C4 removes: no terminal punctuation"] == ["• a bullet", "It trails off..."]
    assert not any(name.startswith("C4") for name in marks(text, row, [C4()], []))


def test_marks_count_characters_and_not_bytes():
    found = marks("ééé — jane@host.example", {"url": None, "metadata": None}, [], [])
    assert found["personal data: email"] == [MarkedSpan(6, 23)]


def test_what_c4_would_remove_is_seen_in_a_text_that_it_dropped(tmp_path):
    """And not in one that it has cleaned."""
    random = Random(3)
    line = " ".join(random.choices("river stone winter garden letter".split(), k=9))
    texts = [f"Menu of pages\n{line}.", "\n".join(["Menu of pages", *(f"{line} {i}." for i in range(6))])]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    recipe = f"read: {{jsonl: {tmp_path}/in.jsonl}}\nsteps: [filter/c4]\nwrite: [parquet]\n"
    run = corpusmill.run(Recipe.parse(recipe), folder=tmp_path / "run", executor=Serial()).folder
    from corpusmill.inspect.app import Inspector

    inspector = Inspector(RunTables(run))
    shown = {}
    for row in inspector.documents({})["rows"]:
        found = inspector.document({"id": row["id"]})
        shown[row["kept"]] = [(part, names) for part, names in found["parts"] if any("C4" in name for name in names)]
    assert [part for part, _ in shown[False]] == ["Menu of pages"] and shown[True] == []


QUESTION = (
    "A farmer keeps twelve red hens and seven brown goats in one barn; how many legs are there in all when two of the "
    "goats are out on the hill?"
)


@pytest.mark.parametrize("action", ["drop", "mark", "cut"])
def test_what_decontamination_found_is_marked_with_benchmark_and_item(tmp_path, action):
    """As the signals have it: of a dropped and of a marked document; where it was cut out, nothing is left of it."""
    before, after = ("Ünrelated words bévor and nöthing of the kind. " * 3, " And some more that no one has asked.")
    part = " ".join(QUESTION.split()[:10])
    texts = [before + QUESTION + after, f"Only this: {part}, and then another matter altogether.", before]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    item = {"id": "farm-7", "question": QUESTION, "answer": "44"}
    (tmp_path / "sums.jsonl").write_text(json.dumps(item) + "\n", "utf-8")
    step = f"decontaminate/ngrams: {{benchmarks: {tmp_path}/sums.jsonl, action: {action}, margin: 0}}"
    recipe = f"read: {{jsonl: {tmp_path}/in.jsonl}}\nsteps:\n  - {step}\nwrite: [parquet]\n"
    run = corpusmill.run(Recipe.parse(recipe), folder=tmp_path / "run", executor=Serial()).folder
    from corpusmill.inspect.app import Inspector

    inspector = Inspector(RunTables(run))
    seen = {}
    for row in inspector.documents({})["rows"]:
        found = inspector.document({"id": row["id"]})
        (signals,) = (step["signals"] for step in found["steps"])
        for name, _ in found["legend"]:
            if "sums" in name:
                assert name.endswith(f"sums farm-7, {signals['overlap']:.2f}")
                seen[name.partition(":")[0]] = "".join(part for part, names in found["parts"] if name in names)
    assert seen.pop("too little overlap").rstrip(",") == part
    assert {kind: text.rstrip("?") for kind, text in seen.items()} == (
        {} if action == "cut" else {"contaminated": QUESTION.rstrip("?")}
    )
    (tmp_path / "sums.jsonl").unlink()  # then the document is shown without
    other = Inspector(RunTables(run))
    assert other.document({"id": other.documents({})["rows"][0]["id"]})["parts"]


def marked(found):
    return "".join(part for part, names in found["parts"] if found["asked"] in names)


def test_a_step_leads_to_its_documents_and_their_tokens_in_the_text(api, folder):
    """By the loader: every token of the batch is in a piece of its document; and the piece is marked in its text."""
    batches = [TokenLoader(folder, batch_size=2, rank=rank, world=2, seed=7).at(3) for rank in (0, 1)]
    expected = np.concatenate([batch["doc_ids"] for batch in batches])
    tokens = np.concatenate([batch["tokens"] for batch in batches])
    said = api("trace", step=3, batch=2, world=2, seed=7)
    assert said["title"] == "Step 3, ranks 0 to 1: 4 rows of 64 tokens" and said["rows"] == 4
    assert (said["previous"]["step"], said["next"]["step"]) == (2, 4) and said["next"]["seed"] == "7"
    traced = np.full(expected.shape, -1)
    tokenizer = load("gpt2")
    texts = {record["url"]: record["text"] for record in records()}
    for piece in said["pieces"]:
        row, end = piece["rank"] * 2 + piece["row"], piece["start"] + piece["length"]
        traced[row, piece["start"] : end] = piece["document"]
        own = tokenizer.decode(tokens[row, piece["start"] : end])
        assert piece["text"] == visible(own) and piece["more"] == 0
        about = piece["about"]
        place = {name: about[name] for name in ("id", "file", "position")}
        found = api("document", **place, tokens=f"{piece['offset']}:{piece['offset'] + piece['length']}")
        assert marked(found) == own.removesuffix("<|endoftext|>") and found["url"] == about["url"]
        assert about["source"] == "extra" or marked(found) in texts[about["url"]]
    assert traced.tolist() == expected.tolist()
    one = api("trace", step=3, batch=2, world=2, rank=1, seed=7)["pieces"]
    assert one == [piece for piece in said["pieces"] if piece["rank"] == 1]


def test_a_large_step_is_told_in_parts(api):
    """Which together are all of it."""
    pieces, first, rows = [], 0, 20
    while first < rows:
        said = api("trace", step=0, batch=10, world=2, first=first)
        assert said["rows"] == rows and said["first"] == first
        pieces += said["pieces"]
        first += said["together"]
    assert {piece["rank"] * 10 + piece["row"] for piece in pieces} == set(range(rows))


def test_a_row_and_a_token_lead_to_their_documents(api, folder):
    shards = open_shards(folder)
    row = len(shards) // 64 // 2
    said = api("trace", row=row, shard=0)
    assert said["pieces"] == [{**piece} for piece in api("trace", row=row)["pieces"]]
    at = row * 64
    for piece in said["pieces"]:
        assert piece["at"] == at and piece["row"] == row
        at += piece["length"]
    assert at == (row + 1) * 64
    piece = said["pieces"][-1]
    token = api("trace", shard=0, token=piece["at"] + 1)
    (one,) = token["pieces"]
    assert (one["document"], one["offset"], one["length"]) == (piece["document"], piece["offset"] + 1, 1)
    assert f"{one['before']}{one['text']}{one['after']}".strip() in piece["text"] + piece["after"] + one["after"]
    assert (token["previous"]["token"], token["next"]["token"]) == (piece["at"], piece["at"] + 2)
    assert api("trace", row=0)["previous"] is None and api("trace", row=len(shards) // 64 - 1)["next"] is None


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({}, "name a step, a row, or a token of a shard"),
        ({"step": "-1"}, 'step must be a whole number from 0; got "-1"'),
        ({"step": "1", "batch": "0"}, "batch must be a whole number from 1"),
        ({"step": "1", "world": "2", "rank": "2"}, "the ranks of world=2 are 0 to 1"),
        ({"row": "999999"}, "there is no row 999999; the shards have rows 0 to"),
        ({"row": "999999", "shard": "0"}, "there is no row 999999 of shard 0"),
        ({"row": "0", "shard": "9"}, "there is no shard 9; the folder has shards 0 to 0"),
        ({"token": "99999999"}, "there is no token 99999999 of shard 0"),
    ],
)
def test_what_cannot_be_traced_is_told_why(api, query, message):
    with pytest.raises(InputError, match=message):
        api("trace", **query)


def test_a_run_without_shards_says_that_nothing_can_be_traced(tmp_path):
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "a text"}) + "\n", "utf-8")
    recipe = f"read: {{jsonl: {tmp_path}/in.jsonl}}\nwrite: [parquet]\n"
    run = corpusmill.run(Recipe.parse(recipe), folder=tmp_path / "run", executor=Serial()).folder
    from corpusmill.inspect.app import Inspector

    inspector = Inspector(RunTables(run))
    assert inspector.run({})["shards"] is None
    with pytest.raises(InputError, match="the run wrote no training shards"):
        inspector.trace({"step": "0"})


def test_tokens_are_marked_by_characters_and_only_where_they_are_those_of_the_text(inspector):
    """Of several bytes a character, which tokens cut; at the beginning with BOS or without."""
    from corpusmill.inspect.trace import _characters

    tokenizer = load("gpt2")
    text = "naïve 日本語 — 👩‍👩‍👧 the end"
    ids = tokenizer.encode(pa.array([text], pa.large_string()))[0].tolist()
    for edge in range(len(ids) + 1):
        whole, begun = _characters(tokenizer, ids[:edge], text)
        made = tokenizer.decode(ids[:edge])
        assert made.rstrip("\ufffd") == text[:whole] and begun - whole == made.endswith("\ufffd")
    assert _characters(tokenizer, ids, "something else") is None
    assert inspector.tracing.span(text, [], 0, 3) is None


def test_a_review_hides_what_the_run_decided_and_tells_how_far_they_agree(api, folder):
    drawn = api("round", stage="pass-1")
    assert len(drawn) == DOCUMENTS_PER_ROUND and [each["id"] for each in drawn] == shuffled(
        each["id"] for each in drawn
    )
    assert drawn[0].keys() == {"id", "file", "position", "source", "url", "date", "stage"}
    for each in drawn:
        shown = api("text", **{name: each[name] for name in ("stage", "id", "file", "position")})["text"]
        assert shown == "".join(part for part, _ in api("document", id=each["id"])["parts"])
    dropped = {row["id"] for page in (0, 1) for row in api("documents", outcome="dropped", page=page)["rows"]}
    steps = {"gopher_quality", "fineweb"}
    assert (api("agreement")["agreement"], api("agreement")["accuracy"]) == ([], [])
    for number, each in enumerate(drawn):
        by_run = api("document", id=each["id"])["dropped_by"] in steps
        mark = "unsure" if number == 0 else "drop" if by_run else "keep"
        place = {name: each[name] for name in ("stage", "id", "file", "position")}
        assert api("mark", {**place, "mark": mark})["saved"] == str(folder / "review.jsonl")
    accuracy = api("agreement")["accuracy"]
    assert [each["stage"] for each in accuracy] == ["pass-1"] and accuracy[0]["precision"]["value"] == 1
    said = api("agreement")["agreement"]
    assert (said[0]["name"], said[0]["marked"], said[0]["agree"], said[0]["kappa"]) == (
        "pass-1",
        DOCUMENTS_PER_ROUND - 1,
        DOCUMENTS_PER_ROUND - 1,
        1,
    )
    assert {one["name"].partition(".")[0] for one in said[1:]} <= steps and said[1]["fired"] >= said[-1]["fired"]
    again = {each["id"] for each in api("round", stage="pass-1")}
    assert not again & {each["id"] for each in drawn} and dropped
    api("mark", {**place, "mark": "keep" if mark == "drop" else "drop"})  # the later of two marks counts
    assert api("agreement")["agreement"][0]["agree"] == DOCUMENTS_PER_ROUND - 2
    lines = (folder / "review.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == DOCUMENTS_PER_ROUND + 1 and json.loads(lines[1])["reasons"] in (
        [],
        *(one["reasons"] for one in map(json.loads, lines)),
    )
    with pytest.raises(InputError, match='a mark must be one of keep, drop, unsure; got "yes"'):
        api("mark", {**place, "mark": "yes"})
    with pytest.raises(InputError, match="has no document"):
        api("mark", {**place, "id": "0" * 32, "mark": "keep"})
    with pytest.raises(InputError, match='no pass "pass-7"'):
        api("round", stage="pass-7")
    with pytest.raises(InputError, match="has no stored text of a document with the id"):
        api("text", stage="pass-1", id="0" * 32, file="", position=0)


@pytest.mark.parametrize("texts", ["all", "sample", "none"])
def test_a_round_is_the_first_documents_of_both_sides_that_have_a_text(tmp_path, monkeypatch, texts):
    """As the files of the pass have them, in the order of their ids, with those left out that have a mark."""
    monkeypatch.setattr("corpusmill.engine.work.dropped.EXAMPLES", 1)
    monkeypatch.setattr("corpusmill.engine.work.dropped.SAMPLED", 3)
    run = corpusmill.run(
        made_corpus(), overrides=[f"run.dropped_text={texts}"], folder=tmp_path / "run", executor=Serial()
    )
    tables = RunTables(run.folder)
    review = Review(Listing(tables))
    for number, (stage, _) in enumerate(tables.passes):
        marked: set[str] = set()
        while True:
            sides = []
            for kind in ("docs", "dropped"):
                stored = samples.draw(tables, kind, [number], 1000)
                sides.append([each["id"] for each in stored if each["text"] is not None and each["id"] not in marked])
            few = min(DOCUMENTS_PER_ROUND, *map(len, sides))
            most = DOCUMENTS_PER_ROUND // 2 if few >= DOCUMENTS_PER_ROUND // 2 else DOCUMENTS_PER_ROUND - few
            drawn = review.round(stage)
            assert [each["id"] for each in drawn] == shuffled(id for side in sides for id in side[:most])
            if not drawn:
                break
            for each in drawn:
                place = each["id"], each["file"], each["position"]
                assert review.text(stage, *place) == visible(history(tables, *place).text)
                review.mark(stage, *place, "keep")
                marked.add(each["id"])
        assert texts == "none" or len(marked) > DOCUMENTS_PER_ROUND or number > 0


def shuffled(ids):
    return sorted(ids, key=lambda id: hashlib.sha256(id.encode()).hexdigest())


def test_precision_and_recall_count_each_side_as_often_as_the_run_has_it(tmp_path):
    """All documents of a pass are judged, half of the dropped ones as good: the shares are those of the whole pass."""
    copy = Path(shutil.copytree(made_run(), tmp_path / "run"))
    review = Review(Listing(RunTables(copy)))
    assert review.accuracy() == []
    judged: dict[bool, list[bool]] = {True: [], False: []}
    while drawn := review.round("pass-1"):
        for each in drawn:
            mark = "keep" if int(each["id"][-1], 16) % 2 else "drop"
            review.mark("pass-1", each["id"], each["file"], each["position"], mark)
    for line in review.marks():
        judged[line["kept"]].append(line["mark"] == "keep")
    (accuracy,) = review.accuracy()
    kept, dropped = judged[True], judged[False]
    assert (accuracy.kept, accuracy.dropped) == (
        Side(len(kept), len(kept), sum(kept)),
        Side(len(dropped), len(dropped), sum(dropped)),
    )
    precision, recall = sum(kept) / len(kept), sum(kept) / (sum(kept) + sum(dropped))
    assert accuracy.precision == (precision, (precision, precision))  # nothing was left out: no interval
    assert accuracy.recall[0] == pytest.approx(recall) and accuracy.recall[1] == pytest.approx((recall, recall))


def test_more_documents_at_once_are_those_of_as_many_rounds(tmp_path):
    review = Review(Listing(RunTables(Path(shutil.copytree(made_run(), tmp_path / "run")))))
    at_once = {each["id"] for each in review.round("pass-1", 2 * DOCUMENTS_PER_ROUND)}
    by_round = set()
    for _ in range(2):
        for each in review.round("pass-1"):
            review.mark("pass-1", each["id"], each["file"], each["position"], "unsure")
            by_round.add(each["id"])
    assert at_once == by_round and review.accuracy() == []


def test_a_torn_last_line_is_left_out_and_any_other_is_named(tmp_path):
    copy = Path(shutil.copytree(made_run(), tmp_path / "run"))
    review = Review(Listing(RunTables(copy)))
    mark = {"id": "a", "file": "f", "position": 1, "stage": "pass-1", "mark": "keep", "kept": True, "reasons": []}
    review.path.write_text(json.dumps(mark) + '\n{"id": "b', "utf-8")
    assert [one["id"] for one in review.marks()] == ["a"]
    (first, *_) = review.round("pass-1")
    review.mark("pass-1", first["id"], first["file"], first["position"], "keep")
    assert [one["id"] for one in review.marks()] == ["a", first["id"]]
    review.path.write_text('{"id": "b\n' + json.dumps(mark) + "\n", "utf-8")
    with pytest.raises(InputError, match=r"review.jsonl:1: not a review mark"):
        review.marks()


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=30))
def test_kappa_is_that_of_the_table_of_both(pairs):
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    found = agreement("x", one, other)
    if found.kappa is None:
        assert len(set(one)) < 2 or len(set(other)) < 2
        return
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    chance = sum((one.count(say) / n) * (other.count(say) / n) for say in (True, False))
    assert found.kappa == pytest.approx((observed - chance) / (1 - chance))


def test_without_the_extra_its_name_is_said(corpusmill, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    status, _, err = corpusmill("inspect", made_run(), "--no-browser")
    assert status == 2 and "pip install 'corpusmill[inspect]'" in err
    assert issubclass(MissingExtraError, ImportError)


def test_a_folder_that_is_no_run_and_a_port_that_is_taken_are_errors(corpusmill, tmp_path):
    import socket

    status, _, err = corpusmill("inspect", tmp_path, "--no-browser")
    assert status == 2 and "not a run folder" in err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, _, err = corpusmill("inspect", made_run(), "--no-browser", "--port", port)
    assert status == 2 and f"port {port} of 127.0.0.1 cannot be used" in err


def test_answers_do_not_wait_to_be_acknowledged():
    import socket

    serve = pytest.importorskip("corpusmill.inspect.serve")
    with serve._open_socket(0) as listening, socket.create_connection(listening.getsockname()):
        answered, _ = listening.accept()
        with answered:
            assert answered.proto == socket.IPPROTO_TCP  # for others asyncio leaves Nagle's algorithm on


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is a signal of POSIX")
def test_ctrl_c_ends_it_without_an_error(folder):
    command = [sys.executable, "-m", "corpusmill.cli", "inspect", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().strip()
        with urllib.request.urlopen(f"{address}api/run", timeout=30) as response:
            assert json.load(response)["name"] == "made"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 0 and "Traceback" not in err and "error" not in err
