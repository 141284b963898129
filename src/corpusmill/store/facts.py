"""Counts of a run: nested dictionaries of numbers, and of lists of numbers by place, summed over units."""

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

Facts = dict[str, Any]


def add(facts: Facts, *path: str, count: int = 1) -> None:
    """Add `count` at facts[path[0]][path[1]]…

    >>> facts = {}
    >>> add(facts, "dead", "bad_json", count=2)
    >>> add(facts, "dead", "bad_json")
    >>> facts
    {'dead': {'bad_json': 3}}
    """
    *folders, name = path
    for folder in folders:
        facts = facts.setdefault(folder, {})
    facts[name] = facts.get(name, 0) + count


def total(many: Iterable[Mapping[str, Any]]) -> Facts:
    """The sum of facts, branch by branch. Keys keep the order of their first occurrence.

    >>> total([{"a": 1, "b": {"c": 2}}, {"b": {"c": 3, "d": 1}}])
    {'a': 1, 'b': {'c': 5, 'd': 1}}
    >>> total([{"bins": [1, 2]}, {"bins": [0, 1, 5]}])
    {'bins': [1, 3, 5]}
    """
    result: Facts = {}
    for facts in many:
        merge(result, facts)
    return result


def merge(into: Facts, facts: Mapping[str, Any], times: int = 1) -> None:
    """Add facts, branch by branch, `times` times over. Lists are added place by place; a shorter one ends in zeros."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            merge(into.setdefault(name, {}), value, times)
        elif isinstance(value, list):
            pairs = zip_longest(into.get(name, ()), value, fillvalue=0)
            into[name] = [count + added * times for count, added in pairs]
        else:
            into[name] = into.get(name, 0) + value * times


def in_order(facts: Mapping[str, Any]) -> Facts:
    """The same facts with sorted keys: the sum of units is the same in whatever order they came."""
    return {name: in_order(value) if isinstance(value, Mapping) else value for name, value in sorted(facts.items())}
