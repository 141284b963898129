"""Planted strings: put in where a draw says, found again exactly, and the same however a run is carried out."""

import re
import shutil

import numpy as np
import pyarrow as pa
import pytest

import corpusmill
from corpusmill.errors import RecipeError
from corpusmill.execute.serial import Serial
from corpusmill.loader import TokenLoader
from corpusmill.models.tokenizer import load
from corpusmill.ops.find import TextIndex, find_canaries, served
from corpusmill.ops.verify import verify_canaries
from corpusmill.recipe.canaries import Canary, canaries
from corpusmill.recipe.model import Recipe
from corpusmill.schema import document_id
from corpusmill.shards import open_shards
from corpusmill.store.run_folder import CANARIES_RECORD, RunFolder
from corpusmill.tokens.sampling import sampling_hash
from made_run import made_corpus

GIVEN = "A string that was planted: 7b1f-made-up-90c2."
PLANTED = f"""
canary:
  - {{made: 2, copies: [1, 10], source: web}}
  - {{text: "{GIVEN}", copies: 3}}
"""


def recipe(canary=PLANTED, run="run: {executor: serial, error_budget: 5"):
    written = made_corpus().read_text().replace("run: {executor: serial, error_budget: 5", run)
    return Recipe.parse(written + canary)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    return corpusmill.run(recipe(), folder=tmp_path_factory.mktemp("canaries") / "run", executor=Serial())


def ids_of(done):
    return [(document.id, document.source, document.text) for document in done.documents()]


def shards_of(folder):
    files = sorted((folder / "output" / "shards").rglob("*"))
    return {str(file.relative_to(folder)): file.read_bytes() for file in files if file.is_file()}


def test_nothing_but_the_canaries_is_added_and_no_step_sees_them(done, tmp_path):
    """Copies would be dropped by dedup, and short ones by quality rules."""
    without = corpusmill.run(recipe(""), folder=tmp_path / "run", executor=Serial())
    found = ids_of(done)
    assert [row for row in found if row[1] != "canary"] == ids_of(without)
    assert sum(row[1] == "canary" for row in found) == 2 * 1 + 2 * 10 + 3
    assert RunFolder(str(without.folder)).read(CANARIES_RECORD) is None


def test_each_is_behind_the_document_that_its_hash_draws(done):
    """By the definition: of the kept documents of its source, in the order of the run, the one of that number."""
    record = RunFolder(str(done.folder)).read(CANARIES_RECORD)
    found = ids_of(done)
    real = [(id, source) for id, source, _ in found if source != "canary"]
    before: dict[str, str | None] = {}
    last = None
    for id, source, _ in found:
        if source == "canary":
            before[id] = last
        else:
            last = id
    assert len(record["canaries"]) == 5
    for one in record["canaries"]:
        assert one["copies"] == len(one["documents"])
        hosts = [id for id, source in real if one["source"] in (None, source)]
        for document in one["documents"]:
            assert document["id"] == document_id("canary", f"{one['name']}/{document['copy']}")
            (draw,) = sampling_hash(pa.array([document["id"]]), 0, "canary").tolist()
            assert document["after"] == hosts[draw % len(hosts)] == before[document["id"]]
    spread = [document["after"] for one in record["canaries"] for document in one["documents"]]
    assert len(set(spread)) > len(spread) / 2


def test_found_again_with_counts_documents_offsets_and_steps(done):
    index = TextIndex(done.folder, workers=1)
    texts = {id: text for id, _, text in ids_of(done)}
    ids: list[str] = []
    for one in find_canaries(index):
        assert one.is_whole and one.found == one.planted and one.elsewhere == 0 and one.count == one.copies
        assert {texts[id] for id in one.found} == {one.text} and set(one.offsets.values()) == {0}
        assert one.text == GIVEN or re.fullmatch(r"The random number is \d{9}\.", one.text)
        ids += one.found
    loader = TokenLoader(done.folder, batch_size=4)
    tokenizer, steps = load("gpt2"), served(done.folder, ids, batch_size=4)
    for id in ids:
        seen = "".join(
            tokenizer.decode(
                loader.at(each.step)["tokens"][each.row][loader.at(each.step)["doc_ids"][each.row] == each.document]
            )
            for each in sorted(steps[id], key=lambda each: each.sample)
        )
        assert sorted(seen) == sorted(f"{texts[id]}<|endoftext|>")
    assert len({each.step for id in ids for each in steps[id]}) > 5  # and not all in one row


@pytest.mark.parametrize(
    ("run", "workers"),
    [
        ("run: {executor: serial, limit: 1000000, error_budget: 5", None),  # a unit for each source
        ("run: {executor: processes, workers: 2, limit: 1000000, error_budget: 5", 2),
    ],
)
def test_the_same_bytes_however_the_run_is_cut_and_carried_out(done, tmp_path, run, workers):
    """In a folder of the same name, which the documents have as that of their file."""
    folder = tmp_path / "run"
    corpusmill.run(recipe(), folder=folder, executor=Serial())
    one, written = shards_of(folder), (folder / "canaries.json").read_bytes()
    shutil.rmtree(folder)
    executor = None if workers else Serial()
    again = corpusmill.run(recipe(run=run), folder=folder, executor=executor, workers=workers, progress="off")
    assert len(RunFolder(str(again.folder)).results()["pass-1"]) > 1
    assert shards_of(folder) == one and (folder / "canaries.json").read_bytes() == written
    tokens = "output/shards/00000.bin"
    assert one[tokens] == shards_of(done.folder)[tokens]


def test_more_copies_and_none_in_the_same_folder(tmp_path):
    folder = tmp_path / "run"
    for canary, copies in (
        ("\ncanary: {text: one string, copies: 2}\n", 2),
        ("\ncanary: {text: one string, copies: 5}\n", 5),
    ):
        done = corpusmill.run(recipe(canary), folder=folder, executor=Serial())
        assert sum(source == "canary" for _, source, _ in ids_of(done)) == copies
    done = corpusmill.run(recipe(""), folder=folder, executor=Serial())
    assert not (folder / "canaries.json").exists() and "canary" not in {source for _, source, _ in ids_of(done)}


def test_verify_counts_them_and_says_what_is_missing(done, tmp_path):
    counted = verify_canaries(RunFolder(str(done.folder)))
    assert str(counted) == "canaries: 25 of 25 copies of 5 strings, verified"
    record = RunFolder(str(done.folder)).read(CANARIES_RECORD)
    record["canaries"][0]["copies"] = 4
    other = RunFolder(str(tmp_path / "run"))
    shutil.copytree(done.folder, tmp_path / "run")
    other.write(CANARIES_RECORD, record)
    (problem,) = verify_canaries(other).problems
    assert problem.endswith("3 of 4 copies of canary-1-1-1 are not in the shards")


def test_the_report_and_the_card_name_them(done):
    page = (done.folder / "report.html").read_text("utf-8")
    assert "canary-1-10-2" in page and GIVEN in page
    corpusmill.card(done)
    assert f"| canary-2 | 3 | all | `{GIVEN}` |" in (done.folder / "README.md").read_text("utf-8")


def test_a_canary_is_traced_to_no_page(done):
    shards = open_shards(done.folder)
    numbers = shards.numbers_of([document_id("canary", "canary-2/1")])
    ((number,),) = numbers.values()
    about = shards.provenance(number)
    assert (about["source"], about["url"]) == ("canary", None) and "canary-" in about["file"]


def test_strings_follow_from_the_seed():
    entries = [Canary(made=3, copies=(1, 10), format="<{}>", digits=12)]
    one, other = (canaries(entries, seed, ["web"]) for seed in (1, 2))
    assert one == canaries(entries, 1, ["web"]) and {each.text for each in one}.isdisjoint(each.text for each in other)
    assert [each.name for each in one][:4] == ["canary-1-1-1", "canary-1-1-2", "canary-1-1-3", "canary-1-10-1"]
    assert all(re.fullmatch(r"<\d{12}>", each.text) for each in one) and len({each.text for each in one}) == 6
    digits = np.array([int(digit) for each in canaries([Canary(made=500)], 0, []) for digit in each.text[-10:-1]])
    assert np.bincount(digits, minlength=10).min() > 380  # of 450 expected


def test_a_recipe_with_canaries_is_read_back_as_it_is_written():
    made = recipe()
    for resolved in (False, True):
        assert Recipe.parse(made.dump(resolved=resolved)) == made
    assert recipe("").fingerprint() != made.fingerprint()


@pytest.mark.parametrize(
    ("canary", "message"),
    [
        ("{}", "give a text, or a number of strings to be made"),
        ("{text: a, made: 2}", "give a text, or a number"),
        ('{text: " "}', "the text is empty"),
        ("{text: a, copies: [1, 2]}", r"a text has one number of copies, got \[1, 2\]"),
        ("{made: 2, copies: [1, 1]}", "numbers from 1, each once"),
        ("{made: 2, copies: 0}", "numbers from 1"),
        ('{made: 2, format: "no number"}', "the format has {} once"),
        ("{made: 20, digits: 2}", "easily guessed"),
        ("{made: 2, source: wbe}", 'there is no source "wbe"; did you mean "web"'),
        ("[{text: a string}, {text: string}]", r'canary-2 \("string"\) is in the text of another'),
        ("{text: a, copy: 2}", 'canary has no parameter "copy"'),
        ("just a string", "canary is a mapping, as in"),
    ],
)
def test_what_cannot_be_planted_is_refused(canary, message):
    with pytest.raises(RecipeError, match=message):
        recipe(f"\ncanary: {canary}\n")


def test_a_source_of_their_name_and_a_mix_are_refused(tmp_path):
    named = recipe("").dump().replace("source: extra", "source: canary")
    with pytest.raises(RecipeError, match='a source is named "canary"'):
        corpusmill.check(Recipe.parse(named + "canary: {text: a string}\n"))
    mixed = (
        made_corpus()
        .read_text()
        .replace("  - tokenize", "  - mix/sources: {weights: {web: 1, extra: 1}}\n  - tokenize")
    )
    with pytest.raises(RecipeError, match="mix/sources draws documents"):
        corpusmill.run(Recipe.parse(mixed + "canary: {text: a string}\n"), folder=tmp_path / "run", executor=Serial())
