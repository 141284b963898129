"""Text to tree: YAML 1.2, lines, variables, and what cannot be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.errors import RecipeError
from corpusmill.recipe.tree import Items, Position, Problems, Scalar, TableNode, escape, expand, parse, read_scalar


def tree_of(text: str) -> TableNode:
    problems = Problems()
    tree = parse(text, "web.yaml", problems)
    problems.check()
    assert isinstance(tree, TableNode)
    return tree


def value_of(written: str) -> object:
    node = tree_of(f"key: {written}").entries["key"].value
    assert isinstance(node, Scalar)
    return node.value


@pytest.mark.parametrize("word", ["no", "No", "NO", "off", "on", "yes", "y", "n", "Yes", "ON"])
def test_the_words_that_yaml_1_1_took_for_truth_are_text(word):
    assert value_of(word) == word


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("true", True),
        ("False", False),
        ("", None),
        ("~", None),
        ("null", None),
        ("12", 12),
        ("-3", -3),
        ("0x1F", 31),
        ("0o17", 15),
        ("1e-3", 0.001),
        ("1e6", 1e6),
        (".5", 0.5),
        ("1.", 1.0),
        ("-.inf", float("-inf")),
        ("0755", "0755"),
        ("00", "00"),
        ("1:30", "1:30"),
        ("12:30:45", "12:30:45"),
        ("1_000", "1_000"),
        ("2024-01-01", "2024-01-01"),
        ("0b11", "0b11"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("1.2.3", "1.2.3"),
        ("=", "="),
    ],
)
def test_reads_a_scalar_by_the_core_rules_of_yaml_1_2(written, value):
    actual = value_of(written)
    assert actual == value
    assert type(actual) is type(value)


def test_a_number_of_thousands_of_digits_does_not_crash():
    assert isinstance(read_scalar("9" * 10_000), float)


def test_knows_the_line_of_everything():
    tree = tree_of("# first\na: 1\nb:\n  - x\n  -\n    c: 2\n")
    assert tree.entries["a"].at == Position("web.yaml", 2)
    items = tree.entries["b"].value
    assert isinstance(items, Items)
    assert [item.at.line for item in items.items] == [4, 6]


def test_an_alias_is_the_value_that_it_names():
    tree = tree_of("a: &langs [no, en]\nb: *langs\n")
    assert tree.entries["b"].value == tree.entries["a"].value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'web.yaml: the recipe is empty. It needs at least "read"'),
        ("# only a comment\n", "web.yaml: the recipe is empty"),
        ("steps:\n\t- filter/url\n", "web.yaml:2: this line is indented with a tab; YAML needs spaces"),
        ("a: 1\nb: c: d\n", "web.yaml:2: not YAML: mapping values are not allowed here; a name that has"),
        ("a:\n  - b:\n  c: 1\n", "web.yaml:3: not YAML: expected <block end>, but found '?'; indent this line"),
        ("a: [1, 2\n", "web.yaml:2: not YAML: expected ',' or ']'"),
        ("a: 1\n---\nb: 2\n", "web.yaml:2: not YAML: a file holds one recipe, and a second begins here"),
        ("a: 1\nb: *.gz\n", "web.yaml:2: not YAML: expected alphabetic or numeric character, but found '.'; text that"),
        ("a: [${X}/b]\n", 'inside [ ] or { } put quotes around "${NAME}"'),
        ("a: 1\nb: \x07\n", "web.yaml:2: '\\x07' is not allowed in YAML"),
        ("a: &x [*x]\n", "web.yaml:1: this value contains itself"),
        ("[" * 1000, "web.yaml: nested too deeply"),
        ("a: 1\nb: 2\na: 3\n", 'web.yaml:3: "a" is written twice, first on line 1; keep one of them'),
        ("s:\n  - x: {b: 1, b: 2}\n", 'web.yaml:2: "b" is written twice'),
        ("a: 1\n<<: [{b: 2}, 3]\n", "web.yaml:2: << takes a mapping, or a list of mappings, as in <<: *defaults"),
        ("[a]: 1\n", "web.yaml:1: a key must be text"),
        (
            "a: !!python/name:os.system x\n",
            'web.yaml:1: the tag "tag:yaml.org,2002:python/name:os.system" has no meaning',
        ),
    ],
)
def test_says_what_cannot_be_read_and_where(text, message):
    with pytest.raises(RecipeError) as error:
        tree_of(text)
    assert message in str(error.value)


def test_tells_all_problems_sorted_by_line():
    with pytest.raises(RecipeError) as error:
        tree_of("a: ${NOT_SET_1}\nb: [1]\nc: 1\nc: 2\nb: 3\nd: ${NOT_SET_2}\n")
    assert [line.split(" ")[0] for line in str(error.value).splitlines()] == [f"web.yaml:{n}:" for n in (1, 4, 5, 6)]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("${SHELF}/a", "/data/a"),
        ("${SHELF:-/tmp}/a", "/data/a"),
        ("${NOT_SET:-/tmp}/a", "/tmp/a"),
        ("${EMPTY:-/tmp}", "/tmp"),
        ("x${EMPTY}y", "xy"),
        ("${NOT_SET:-}", ""),
        ("$${SHELF}", "${SHELF}"),
        ("$SHELF $5", "$SHELF $5"),
    ],
)
def test_variables_are_replaced(written, text, monkeypatch):
    monkeypatch.setenv("SHELF", "/data")
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.delenv("NOT_SET", raising=False)
    value = tree_of(f"key: '{written}'").entries["key"].value
    assert isinstance(value, Scalar) and value.text == text


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "${NOT_SET}",
            "web.yaml:1: the environment variable NOT_SET is not set; set it, write a value in its place, or give a default: ${NOT_SET:-",
        ),
        ("${9}", 'web.yaml:1: "${9}" does not name a variable; write ${NAME}'),
    ],
)
def test_a_variable_that_cannot_be_replaced_is_a_problem(written, message, monkeypatch):
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(RecipeError) as error:
        tree_of(f"key: '{written}'")
    assert message in str(error.value)


@given(st.text(alphabet="${}A:-~ ", max_size=12))
def test_escaped_text_expands_to_itself(text):
    problems = Problems()
    assert expand(Scalar(Position("x"), escape(text)), problems).text == text
    assert not problems
