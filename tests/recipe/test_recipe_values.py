"""What a parameter's annotation takes from a recipe, and how it is put when it does not."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from recipe_parts import Everything, Window

from corpusmill.recipe.tree import Problems, TableNode, parse
from corpusmill.recipe.values import Mismatch, convert, make, plain, words


def read(written: str, want: Any) -> Any:
    problems = Problems()
    tree = parse(f"key: {written}", "web.yaml", problems)
    problems.check()
    assert isinstance(tree, TableNode)
    return convert(tree.entries["key"].value, want)


@pytest.mark.parametrize(
    ("written", "want", "value"),
    [
        ("3", int, 3),
        ("3", float, 3.0),
        ("1e-3", float, 0.001),
        ("true", bool, True),
        ("no", str, "no"),
        ("'3'", str, "3"),
        ("null", int | None, None),
        ("3", int | None, 3),
        ("3", float | int, 3),
        ("3.0", float | int, 3.0),
        ("[no, en]", tuple[str, ...], ("no", "en")),
        ("[]", tuple[str, ...], ()),
        ("[1, 2.5]", tuple[float, ...], (1.0, 2.5)),
        ("list", tuple[str, ...] | str, "list"),
        ("[list]", tuple[str, ...] | str, ("list",)),
        ("[[1], [2, 3]]", tuple[tuple[int, ...], ...], ((1,), (2, 3))),
        ("[1, a]", tuple[int, str], (1, "a")),
        ("{no: 1, en: 2}", dict[str, float], {"no": 1.0, "en": 2.0}),
        ("{1: a}", dict[int, str], {1: "a"}),
        ("{1: 2}", dict[str, int], {"1": 2}),
        ("{b: 1, a: 2}", tuple[tuple[str, int], ...], (("b", 1), ("a", 2))),
        ("[[b, 1], [a, 2]]", tuple[tuple[str, int], ...], (("b", 1), ("a", 2))),
        ("fast", Literal["fast", 3], "fast"),
        ("3", Literal["fast", 3], 3),
        ("{low: 0.5}", Window, Window(low=0.5)),
        ("[a, a]", frozenset[str], frozenset("a")),
        ("a/b", Path, Path("a/b")),
        ("{a: [1, x]}", Any, {"a": (1, "x")}),
    ],
)
def test_takes(written, want, value):
    actual = read(written, want)
    assert actual == value
    assert type(actual) is type(value)


@pytest.mark.parametrize(
    ("written", "want", "message"),
    [
        ("thirty", int, 'must be a whole number, got text "thirty"'),
        ("'30'", int, 'must be a whole number, got text "30"; write 30'),
        ("1_000", int, 'must be a whole number, got text "1_000"; write 1000'),
        ("0755", int, 'must be a whole number, got text "0755"; write 755'),
        ("1e6", int, "must be a whole number, got the number 1e6; write 1000000"),
        ("2.5", int, "must be a whole number, got the number 2.5"),
        ("true", int, "must be a whole number, got true"),
        ("1:30", int, 'must be a whole number, got text "1:30"'),
        ("true", float, "must be a number, got true"),
        (".nan", float, "must be a number, got the number .nan"),
        ("null", float, "must be a number, got null"),
        ("x", float | None, 'must be a number or null, got text "x"'),
        ("yes", bool, 'must be true or false, got text "yes"; write true'),
        ("off", bool, 'must be true or false, got text "off"; write false'),
        ("1", bool, "must be true or false, got the number 1"),
        ("3", str, 'must be text, got the number 3; write "3"'),
        ("true", str, 'must be text, got true; write "true"'),
        ("[a]", str, "must be text, got a list of 1"),
        ("{a: 1}", str, "must be text, got a mapping with the keys a"),
        ("en", tuple[str, ...], 'must be a list of text, got text "en"; write [en]'),
        ("'a, b'", tuple[str, ...], 'must be a list of text, got text "a, b"; write ["a, b"]'),
        ("[en, 3]", tuple[str, ...], '[1] must be text, got the number 3; write "3"'),
        ("[en, 3]", tuple[str, ...] | str, '[1] must be text, got the number 3; write "3"'),
        ("{a: b}", tuple[str, ...], "must be a list of text, got a mapping with the keys a"),
        ("[1]", tuple[int, str], "must be a list of 2: a whole number, text, got a list of 1"),
        ("[a]", dict[str, float], "must be a mapping of text to numbers, got a list of 1"),
        ("{a: x}", dict[str, float], '.a must be a number, got text "x"'),
        ("{a: x}", tuple[tuple[str, int], ...], '.a must be a whole number, got text "x"'),
        ("x", tuple[tuple[str, int], ...], 'must be a mapping of text to whole numbers, got text "x"'),
        ("fats", Literal["fast", "slow"], 'must be one of "fast", "slow", got text "fats"; did you mean "fast"?'),
        ("7", Literal["fast", 3], 'must be one of "fast", 3, got the number 7'),
        ("{lo: 1}", Window, 'is wrong: Window has no parameter "lo"; did you mean "low"? It takes: low, high.'),
        ("{low: 2}", Window, "is wrong: Window: need low <= high, got low=2.0, high=1.0"),
        ("x", Window, 'must be a mapping of low, high, got text "x"'),
        ("x" * 70, int, f'got text "{"x" * 57}…"'),
    ],
)
def test_refuses(written, want, message):
    with pytest.raises(Mismatch) as error:
        read(written, want)
    actual = error.value.inside + (" " if error.value.inside else "") + error.value.message
    assert message in actual


def test_a_variable_is_of_the_type_that_is_wanted(monkeypatch):
    monkeypatch.setenv("N", "12")
    assert read("${N}", int) == 12
    assert read("'${N}'", int) == 12
    assert read("${N}", str) == "12"
    assert read("${N}", Literal["12"]) == "12"
    assert read("[ '${N}' ]", tuple[float, ...]) == (12.0,)


@pytest.mark.parametrize(
    ("want", "said"),
    [
        (tuple[tuple[int, ...], ...], "a list of lists of whole numbers"),
        (float | None, "a number or null"),
        (dict[str, tuple[str, ...]], "a mapping of text to lists of text"),
        (tuple[Literal["a", True], ...], 'a list of one of "a", true'),
    ],
)
def test_says_a_type_in_words(want, said):
    assert words(want) == said


def test_plain_values_of_equal_steps_are_the_same():
    one = Everything(number=1, numbers=(1, 2), maybe=-0.0, table={"a": 1, "b": 2}, kinds=frozenset("abc"))
    two = Everything(number=1.0, numbers=(1.0, 2.0), maybe=0, table={"b": 2.0, "a": 1.0}, kinds=frozenset("cba"))
    assert one == two
    assert repr(plain(one)) == repr(plain(two))


def test_plain_values_tell_a_count_from_a_share():
    assert repr(plain(Everything(count_or_share=1))) != repr(plain(Everything(count_or_share=1.0)))


def test_plain_values_keep_the_order_of_pairs():
    one, two = Everything(pairs=(("a", 1), ("b", 2))), Everything(pairs=(("b", 2), ("a", 1)))
    assert repr(plain(one)) != repr(plain(two))


@dataclass(frozen=True)
class Bounded:
    low: float = 3.0
    high: float = 10.0
    least: int = 0
    names: list = ()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"need low <= high, got low={self.low:g}, high={self.high:g}")
        if self.least < 0:
            raise ValueError(f"need least >= 0, got {self.least}")


@pytest.mark.parametrize(
    "text, said",
    [
        ("{low: 40, high: 30, least: -1}", ["need low <= high, got low=40, high=30", "need least >= 0, got -1"]),
        (
            "{low: 40, high: many, least: -1}",
            ["high must be a number", "need least >= 0, got -1"],
        ),  # high's default: no
        ("{low: 20, high: 30, least: -1}", ["need least >= 0, got -1"]),
        ("{low: a, least: b, lo: 3}", ["low must be a number", "least must be a whole number", 'no parameter "lo"']),
    ],
)
def test_what_a_class_refuses_is_said_with_all_else(text, said):
    problems = Problems()
    tree = parse(text, "r.yaml", problems)
    assert isinstance(tree, TableNode)
    assert make(Bounded, "bounded", tree.at, tree.entries, problems) is None
    messages = [problem.message for problem in problems.all]
    assert len(messages) == len(said) and all(part in message for part, message in zip(said, messages)), messages


def test_a_list_that_does_not_say_of_what_takes_anything():
    problems = Problems()
    tree = parse("{names: [a, 1]}", "r.yaml", problems)
    assert isinstance(tree, TableNode)
    made = make(Bounded, "bounded", tree.at, tree.entries, problems)
    assert made is not None and made.names == ["a", 1]
