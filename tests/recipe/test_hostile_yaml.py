"""YAML as people and attackers write it: every mistake is a RecipeError with its line, and nothing else is raised."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusmill.errors import RecipeError
from corpusmill.recipe import Recipe, RunSettings
from corpusmill.recipe.load import read_text


def refused(text, *overrides):
    with pytest.raises(RecipeError) as error:
        Recipe.parse(text, "web.yaml", overrides)
    return str(error.value)


def test_an_anchor_is_the_value_that_it_names():
    recipe = Recipe.parse("read: {jsonl: &files [a.jsonl, b.jsonl]}\nrun: {folder: &name x}\nname: *name\n")
    assert recipe.read[0].paths == ("a.jsonl", "b.jsonl") and recipe.name == recipe.run.folder == "x"


def test_a_step_may_be_used_twice_by_its_anchor():
    text = "read: {jsonl: x}\nsteps:\n- &rule {filter/gopher_quality: {min_words: 9}}\n- *rule\n"
    first, second = Recipe.parse(text).steps
    assert first == second


def test_aliases_do_not_multiply_the_work():
    levels = "\n".join(f"- &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 30))
    assert "a recipe is a mapping" in refused(f"- &l0 x\n{levels}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "web.yaml: the recipe is empty"),
        ("# nothing\n", "web.yaml: the recipe is empty"),
        ("read: &a [*a]", "web.yaml:1: this value contains itself, through its alias"),
        ("read: {jsonl: *nowhere}", "web.yaml:1: not YAML: found undefined alias"),
        ("read: {jsonl: *.gz}", 'text that begins with * needs quotes: "*.gz"'),
        ("read: {<<: x}", "web.yaml:1: << takes a mapping, or a list of mappings, as in <<: *defaults"),
        ("read: {jsonl: x}\nread: {text: x}", 'web.yaml:2: "read" is written twice, first on line 1; keep one of them'),
        ("read: {jsonl: !!python/object:os.system x}", "has no meaning in a recipe; write the value without it"),
        ("read: !mine {jsonl: x}", 'the tag "!mine" has no meaning in a recipe'),
        ("? [a, b]\n: c\nread: {jsonl: x}", "web.yaml:1: a key must be text, got a list or a mapping"),
        ("read:\n\tjsonl: x", "web.yaml:2: this line is indented with a tab; YAML needs spaces"),
        ("read: {jsonl: x}\n---\nread: {jsonl: y}", "a file holds one recipe, and a second begins here"),
        ("read: {jsonl: x", "web.yaml:1: not YAML: "),
        ("read: {jsonl: 'x}", "web.yaml:1: not YAML: "),
        ("read: {jsonl: x}\nname: \x07", "web.yaml:2: '\\x07' is not allowed in YAML"),
        ("read: {jsonl: ${X}}", 'inside [ ] or { } put quotes around "${NAME}"'),
        ("read: " + "[" * 5000, "nested too deeply to be a recipe"),
        ("read: {jsonl: '${}'}", '"${}" does not name a variable'),
        ("read: {jsonl: '${1x}'}", '"${1x}" does not name a variable'),
        ("read: {jsonl: x}\nseed: 99999999999999999999", "web.yaml:2: seed must be a whole number of at most 64 bits"),
        ("read: {jsonl: x}\nseed: -1", "web.yaml:2: seed: need a seed from 0 to 2**64 - 1, got -1"),
        ("read: {jsonl: x}\nname: ../etc", "web.yaml:2: name: the name of a recipe is that of its folder"),
        ("read: {jsonl: x}\nname: ''", "web.yaml:2: name: the name of a recipe is that of its folder"),
        ("read: {jsonl: [x, '']}", "needs at least one path, and none of them empty"),
    ],
)  # fmt: skip
def test_each_mistake_is_named_with_its_line(text, message):
    assert message in refused(text)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"),
        ("0755", "0755"),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("'12'", "12"),
        ("1_000", "1_000"),
    ],
)
def test_what_only_yaml_1_1_takes_for_something_else_is_text(written, value):
    assert Recipe.parse(f"read: {{jsonl: x}}\nname: {written}").name == value


def test_a_byte_order_mark_is_skipped(tmp_path):
    path = tmp_path / "web.yaml"
    path.write_bytes(b"\xef\xbb\xbfread: {jsonl: x}\n")
    assert Recipe.load(path).name == "web"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"read:\n  jsonl: \xff\n", ":2: byte 0xff is not UTF-8; save the file as UTF-8"),
        (b"\xff\xfer\x00", "is not UTF-8"),
    ],
)
def test_a_file_that_is_not_utf_8_is_refused_with_the_line(tmp_path, data, message):
    path = tmp_path / "web.yaml"
    path.write_bytes(data)
    with pytest.raises(RecipeError, match=message):
        read_text(path)


def test_a_missing_file_with_the_name_of_a_shipped_recipe_says_how_to_write_it(tmp_path):
    from corpusmill.recipe import shipped

    name = shipped.names()[0]
    with pytest.raises(RecipeError, match=f"A recipe of that name ships; to write it here: corpusmill new {name}"):
        read_text(tmp_path / f"{name}.yaml")
    with pytest.raises(RecipeError) as error:
        read_text(tmp_path / "nowhere.yaml")
    assert str(error.value).endswith("there is no such file")
    with pytest.raises(RecipeError, match="this is a folder, not the file of a recipe"):
        read_text(tmp_path)


WRONG = {
    "workers": ["x", "1.5", "[1]", "{a: 1}", "true", "0", "-2"],
    "executor": ["1", "[serial]", "{}", "slurm", "null"],
    "address": ["1", "[a]", "'head:1'"],
    "folder": ["1", "[a]", "''"],
    "unit_mb": ["x", "null", "0", "1.5"],
    "error_budget": ["x", "null", "-1", "1.5", "[0.1]"],
    "measure_dropped": ["alle", "1", "null", "[all]"],
    "dropped_text": ["most", "true"],
    "keep": ["nothing", "true"],
    "store_extracted": ["x", "1", "null"],
    "limit": ["0", "x", "1.5"],
    "sample": ["2", "0", "'x%'", "[1]", "'200%'"],
}


def test_every_setting_of_a_run_is_tried_with_values_that_it_cannot_have():
    assert WRONG.keys() == RunSettings.__dataclass_fields__.keys()


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_wrong_value_of_a_run_is_named_with_its_line(name, value):
    message = refused(f"read: {{jsonl: x}}\nrun:\n  {name}: {value}\n")
    assert message.startswith(("web.yaml:3: run: ", "web.yaml:2: run: ")) and name in message.replace("executor", name)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values[:2]])
def test_a_wrong_setting_of_the_command_line_is_named_as_its_place(name, value):
    assert refused("read: {jsonl: x}", f"run.{name}={value}").startswith(
        (f"--set run.{name}={value}: run: ", "web.yaml")
    )


@pytest.mark.parametrize("key", ["source", "subset", "split", "root"])
@pytest.mark.parametrize("value", ["1", "[a]", "{a: b}", "null", "true"])
def test_texts_of_a_source_are_text(key, value):
    assert f"web.yaml:3: jsonl: {key} must be text, got" in refused(
        f"read:\n  jsonl:\n    {key}: {value}\n    paths: x\n"
    )


@pytest.mark.parametrize("key", ["paths", "exclude"])
@pytest.mark.parametrize(
    ("value", "inside"), [("1", ""), ("{a: b}", ""), ("[a, 1]", "[1]"), ("[[a]]", "[0]"), ("null", "")]
)
def test_paths_of_a_source_are_texts(key, value, inside):
    other = "exclude: []" if key == "paths" else "paths: x"
    message = refused(f"read:\n  jsonl:\n    {key}: {value}\n    {other}\n")
    assert f"web.yaml:3: jsonl: {key}{inside} must be text" in message


def test_all_problems_are_reported_together_in_the_order_of_the_file():
    text = "nane: web\nseed: x\nread:\n- jsonll: a\n- jsonl: {pahts: b}\nsteps:\n- filter/gofer_quality\nrun: {worker: 2}\n"
    lines = refused(text).splitlines()
    assert [line.split(":")[1] for line in lines] == ["1", "2", "4", "5", "5", "7", "8"]
    for hint in ('did you mean "name"?', 'did you mean "jsonl"?', 'did you mean "paths"?', 'did you mean "workers"?'):
        assert hint in "\n".join(lines)
    assert 'did you mean "filter/gopher_quality"?' in lines[5]


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["paths", "jsonl", "text", "name", "only", "min", "length", "tokenize", "mix", "copies"])
            | st.text(max_size=4),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
SECTIONS = st.sampled_from(["read", "steps", "write", "stages", "canary", "run", "name", "seed", "other"])


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(SECTIONS, TREES, max_size=4))
@example({"read": {"jsonl": "x"}, "stages": [{"name": "a", "tokens": "2B", "batch": 8, "tokenize": "pack/concat"}]})
@example({"read": {"jsonl": "x"}, "stages": {"name": "a", "shards": 3, "pack": None, "tokenize": {}}})
@example({"read": {"jsonl": "x"}, "steps": {"filter/url": {"only": {"a": 1}}}})
@example({"read": [{"jsonl": {"paths": "x", "source": "a"}}, {"jsonl": {"paths": "y", "source": "a"}}]})
def test_nothing_but_a_recipe_error_comes_of_any_tree(tree):
    text = json.dumps(tree)
    try:
        recipe = Recipe.parse(text)
    except RecipeError as error:
        assert error.problems and all(problem.message for problem in error.problems)
    else:
        assert Recipe.parse(recipe.dump()) == recipe


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="read: {}[]\n-&*!|>'\"#%@`,jsonlx${}<\t0", max_size=40))
def test_nothing_but_a_recipe_error_comes_of_any_text(text):
    try:
        Recipe.parse(text)
    except RecipeError as error:
        assert str(error)
