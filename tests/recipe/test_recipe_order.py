"""Whether the parts of a recipe fit together."""

import re

import pytest
from recipe_parts import Everything, KeepShort, Letters, Lines, NoStep, Rows

from corpusmill.errors import RecipeError
from corpusmill.read.jsonl import JsonlReader
from corpusmill.recipe import Recipe, Source, check_order
from corpusmill.steps.pack.concat import Concat
from corpusmill.steps.tokenize.bpe import Bpe
from corpusmill.write.parquet_tokens import ParquetTokensWriter


def recipe(reader: str = "jsonl", steps: str = "", write: str = "parquet") -> str:
    lines = "".join(f"  - {step}\n" for step in steps.split()) or "  []\n"
    return f"read:\n  - {reader}: x\nsteps:\n{lines}write: {write}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            recipe(steps="pack/concat"),
            "web.yaml:4: pack/concat packs tokens, and no step before it makes them; add tokenize/bpe above it",
        ),
        (
            recipe(steps="pack/concat tokenize/bpe"),
            "web.yaml:4: pack/concat packs tokens, and no step before it makes them; add tokenize/bpe above it",
        ),
        (
            recipe(steps="filter/url", write="shards"),
            "web.yaml:5: shards writes tokens, and no step makes them; add tokenize/bpe as the last step",
        ),
        (
            recipe(steps="filter/url", write="tokenized"),
            "web.yaml:5: tokenized writes tokens, and no step makes them; add tokenize/bpe as the last step",
        ),
        (
            recipe(steps="filter/url", write="parquet_tokens"),
            "web.yaml:5: parquet_tokens writes packed tokens, and no step packs; "
            "add tokenize/bpe and pack/concat as the last steps",
        ),
        (
            recipe(steps="tokenize/bpe", write="[parquet, parquet_tokens]"),
            "web.yaml:5: parquet_tokens writes packed tokens, and no step packs; add pack/concat as the last step",
        ),
        (
            recipe(steps="tokenize/bpe filter/url pack/concat"),
            "web.yaml:5: filter/url works on text, but comes after tokenize/bpe; move it above tokenize/bpe",
        ),
        (
            recipe(steps="tokenize/bpe dedup/minhash"),
            "web.yaml:5: dedup/minhash works on text, but comes after tokenize/bpe; move it above tokenize/bpe",
        ),
        (
            recipe(steps="tokenize/bpe pack/concat filter/url"),
            "web.yaml:6: filter/url cannot follow pack/concat, which makes the rows to write; move it above",
        ),
        (
            recipe(steps="tokenize/bpe tokenize/bpe pack/concat"),
            "web.yaml:5: tokenize/bpe is a second step that tokenizes, after tokenize/bpe; keep one of them",
        ),
        (
            recipe(steps="tokenize/bpe pack/concat pack/best_fit"),
            "web.yaml:6: pack/best_fit is a second step that packs, after pack/concat; keep one of them",
        ),
        (
            recipe(reader="warc", steps="filter/url"),
            "web.yaml:2: warc gives HTML pages, and no step extracts their text; add extract/blocks as the first step",
        ),
        (
            recipe(reader="warc", steps="filter/url filter/gopher_quality extract/resiliparse"),
            "web.yaml:5: filter/gopher_quality reads text, and read/warc gives HTML pages, which have none before "
            "extract/resiliparse; move it below extract/resiliparse",
        ),
        (
            recipe(reader="warc", steps="clean/html extract/blocks"),
            "web.yaml:4: clean/html reads text, and read/warc gives HTML pages, which have none before extract/blocks; "
            "move it below extract/blocks",
        ),
        (
            recipe(reader="mediawiki", steps="dedup/exact extract/wikitext"),
            "web.yaml:4: dedup/exact reads text, and read/mediawiki gives pages in wikitext, which have none before extract/wikitext; "
            "move it below extract/wikitext",
        ),
        (
            recipe(steps="recipe_parts:Letters recipe_parts:Everything"),
            "web.yaml:5: recipe_parts:Everything works on text, but comes after recipe_parts:Letters",
        ),
        (recipe(steps="recipe_parts:NoStep"), "web.yaml:4: recipe_parts:NoStep is not a step: its class has none of"),
    ],
)
def test_reports_what_is_in_the_wrong_place_and_what_to_do(text, message):
    with pytest.raises(RecipeError) as error:
        Recipe.parse(text, "web.yaml")
    assert message in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        recipe(),
        recipe(steps="filter/url tokenize/bpe pack/concat", write="[shards, parquet]"),
        recipe(steps="filter/url tokenize/bpe"),
        recipe(reader="warc", steps="filter/url extract/resiliparse filter/gopher_quality"),
        recipe(steps="filter/gopher_quality extract/resiliparse"),
        recipe(steps="recipe_parts:Everything recipe_parts:Letters recipe_parts:Rows", write="shards"),
    ],
)
def test_lets_pass_what_fits(text):
    Recipe.parse(text)


def corrected(message: str, steps: list[str]) -> list[str]:
    """The steps after what a message says to do: `place: part what is wrong; what to do`."""
    place, _, rest = message.partition(": ")
    line = int(place.rpartition(":")[2])
    at = line - 4  # the first step is in line 4
    wrong, _, do = rest.rpartition("; ")
    match do.split():
        case ["add", one, "as", "the", "first" | "last" as end, "step"]:
            return [one, *steps] if end == "first" else [*steps, one]
        case ["add", one, "and", other, "as", "the", "last", "steps"]:
            return [*steps, one, other]
        case ["add", one, "above", "it"]:
            return [*steps[:at], one, *steps[at:]]
        case ["move", "it", "above", *label]:
            others = steps[:at] + steps[at + 1 :]
            after = label[0] if label else re.findall(r"cannot follow ([^ ,]+)", wrong)[0]
            return [*others[: (to := others.index(after))], steps[at], *others[to:]]
        case ["move", "it", "below", label]:
            others = steps[:at] + steps[at + 1 :]
            return [*others[: (to := others.index(label) + 1)], steps[at], *others[to:]]
        case ["keep", "one", "of", "them"]:
            return steps[:at] + steps[at + 1 :]
        case ["take", one, *_]:
            packs = [number for number, step in enumerate(steps) if step.startswith("pack/")]
            return [*steps[: packs[0]], one, *steps[packs[0] + 1 :]]
    raise AssertionError(f"this test does not know how to do: {do}")


@pytest.mark.parametrize(
    ("reader", "steps", "write"),
    [
        ("jsonl", "pack/concat", "parquet"),
        ("jsonl", "pack/concat tokenize/bpe", "parquet"),
        ("jsonl", "filter/url", "shards"),
        ("jsonl", "filter/url", "tokenized"),
        ("jsonl", "filter/url", "parquet_tokens"),
        ("jsonl", "tokenize/bpe", "[parquet, parquet_tokens]"),
        ("jsonl", "tokenize/bpe filter/url pack/concat", "parquet"),
        ("jsonl", "tokenize/bpe pack/concat filter/url dedup/exact", "parquet"),
        ("jsonl", "tokenize/bpe tokenize/bpe pack/concat", "parquet"),
        ("jsonl", "tokenize/bpe pack/concat pack/best_fit", "parquet"),
        ("warc", "filter/url", "parquet"),
        ("mediawiki", "clean/normalize", "jsonl"),
        ("latex", "", "shards"),
        ("warc", "clean/html extract/blocks", "parquet"),
        ("warc", "filter/gopher_quality dedup/exact extract/resiliparse tokenize/bpe clean/normalize", "shards"),
    ],
)
def test_what_an_error_says_to_do_gives_a_recipe_that_can_be_planned(reader, steps, write):
    done, left = steps.split(), 10
    while left:
        try:
            loaded = Recipe.parse(recipe(reader, " ".join(done), write), "web.yaml")
            break
        except RecipeError as error:
            done, left = corrected(str(error).splitlines()[0], done), left - 1
    assert left, done
    kept = {step.partition("/")[0] for step in done}
    assert len(loaded.steps) == len(done) and {step.partition("/")[0] for step in steps.split()} <= kept


def test_wrong_order_is_reported_with_other_problems():
    with pytest.raises(RecipeError) as error:
        Recipe.parse(recipe(steps="filter/ulr tokenize/bpe filter/url"), "web.yaml")
    assert [line.split()[0] for line in str(error.value).splitlines()] == ["web.yaml:4:", "web.yaml:6:"]


def test_an_unknown_step_is_not_blamed_on_its_neighbours():
    with pytest.raises(RecipeError) as error:
        Recipe.parse(recipe(steps="tokenise/bpe pack/concat", write="shards"), "web.yaml")
    assert str(error.value).count("\n") == 0
    assert 'there is no step "tokenise/bpe"; did you mean "tokenize/bpe"?' in str(error.value)


def test_problems_of_a_recipe_in_python_name_the_index():
    made = Recipe(
        read=[Source(JsonlReader(), ["x"])],
        steps=[Bpe(), KeepShort(max_words=3), NoStep()][:2],
        write=[ParquetTokensWriter()],
    )
    with pytest.raises(RecipeError) as error:
        check_order(made)
    assert str(error.value).splitlines() == [
        "steps[1]: recipe_parts:KeepShort works on text, but comes after tokenize/bpe; move it above tokenize/bpe",
        "write[0]: parquet_tokens writes packed tokens, and no step packs; add pack/concat as the last step",
    ]


def test_a_recipe_in_python_that_fits_passes():
    check_order(
        Recipe(
            read=[Source(Lines(), ["x"])],
            steps=[Everything(), Letters(), Rows()],
            write=[ParquetTokensWriter()],
        )
    )
    check_order(Recipe(read=[Source(JsonlReader(), ["x"])], steps=[Bpe(), Concat()], write=[ParquetTokensWriter()]))
