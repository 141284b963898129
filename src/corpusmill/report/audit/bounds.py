"""What is expected of a check: a range, written LOW..HIGH."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from corpusmill.errors import InputError, did_you_mean

BOUND_NUMBER = r"\d+(?:\.\d+)?|\.\d+"
BOUND_RANGE = re.compile(rf"({BOUND_NUMBER})?\.\.({BOUND_NUMBER})?")


@dataclass(frozen=True)
class Bounds:
    """A range that includes both ends; None is no bound on that side."""

    low: float | None = None
    high: float | None = None

    def hold(self, value: float) -> bool:
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def in_words(self, unit: Literal["share", "count", "number"]) -> str:
        """As people write it.

        >>> Bounds(0.2).in_words("share"), Bounds(high=0).in_words("count"), Bounds(2, 6).in_words("number")
        ('at least 20 %', 'none', '2 to 6')
        """

        def format_value(value: float) -> str:
            return f"{100 * value:g} %" if unit == "share" else f"{value:,g}"

        if self.low is None and self.high is None:
            return "any"
        if self.low is None or self.high is None:
            if self.high is None:
                return f"at least {format_value(self.low or 0)}"
            return f"at most {format_value(self.high)}" if self.high else "none"
        return f"{format_value(self.low)} to {format_value(self.high)}"


def parse(settings: Sequence[str], defaults: Mapping[str, Bounds]) -> dict[str, Bounds]:
    """Bounds as a user writes them; of two for one check the last counts.

    >>> parse(["chars_per_token=3..5", "pii_left=..0.05"], {"chars_per_token": Bounds(2, 6), "pii_left": Bounds()})
    {'chars_per_token': Bounds(low=3.0, high=5.0), 'pii_left': Bounds(low=None, high=0.05)}

    Raises InputError for an unknown check, with the nearest name, and for what is not a range.
    """
    chosen = {}
    for setting in settings:
        name, equals, range_text = setting.partition("=")
        if name not in defaults:
            raise InputError(
                f'there is no check "{name}"{did_you_mean(name, defaults) or "."} '
                f"The checks are: {', '.join(defaults)}."
            )
        match = BOUND_RANGE.fullmatch(range_text)
        if not equals or not match:
            usual = defaults[name]
            example = "..".join("" if end is None else f"{end:g}" for end in (usual.low, usual.high))
            raise InputError(
                f'the bound of {name} is a range, as in {name}={example}; either end may be left out; got "{setting}"'
            )
        low, high = (None if end is None else float(end) for end in match.groups())
        if low is not None and high is not None and low > high:
            raise InputError(f'the bound of {name} begins above its end: "{setting}"')
        chosen[name] = Bounds(low, high)
    return chosen
