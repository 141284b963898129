import doctest
from dataclasses import dataclass
from typing import ClassVar

from corpusmill.steps import verdict
from corpusmill.steps.verdict import Rule, rules_of, thresholds

SHORT, LONG = Rule("min_words", "words", "<"), Rule("max_words", "words", ">")


@dataclass(frozen=True, kw_only=True)
class Fixed:
    RULES: ClassVar[tuple[Rule, ...]] = (SHORT,)
    rules: tuple[str, ...] = ("a parameter of its own",)


@dataclass(frozen=True, kw_only=True)
class ByParameters:
    both: bool = True
    threshold_parameters: ClassVar[tuple[str, ...]] = ("languages",)

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (SHORT, LONG) if self.both else (SHORT,)


def test_rules_are_a_class_variable_or_a_property_of_the_step():
    assert rules_of(Fixed()) == (SHORT,)
    assert rules_of(ByParameters()) == (SHORT, LONG)
    assert rules_of(ByParameters(both=False)) == (SHORT,)
    assert rules_of(object()) == ()


def test_the_thresholds_are_the_parameters_of_rules_and_those_named_beside_them():
    assert thresholds(ByParameters()) == ("min_words", "max_words", "languages")
    assert thresholds(object()) == ()


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(verdict).failed == 0
