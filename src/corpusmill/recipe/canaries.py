"""Strings that a run plants, to find out later what a model remembers: `canary:` in a recipe.

Source: Carlini et al. 2019, "The Secret Sharer", arXiv:1802.08232, section 4: a format with a random number, in the
training set once, ten times, a hundred times.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.schema import CANARY

SOURCE = CANARY
MAX_CANARIES = 10_000  # canaries of a recipe: each is compared with all others
NUMBER_PLACE = "{}"  # in a format


@dataclass(frozen=True, kw_only=True)
class Canary:
    """Plant a string in documents of its own, or several that are made from the recipe's seed.

    Give `text`, or `made` with a format. A document holds the string and nothing else. Each copy is put behind a kept
    document that is drawn by the hash of the copy's id, so copies are spread over the whole of the training data. They
    are put there after all steps that judge documents, or deduplication would leave one of them, and before the text is
    tokenized.
    """

    text: str | None = None  # that is planted
    made: int = 0  # strings to make instead, for each number of copies
    format: str = "The random number is {}."  # of those, with {} for the number
    digits: int = 9  # of the random number
    copies: int | tuple[int, ...] = 1  # documents with the string; several numbers for strings that are made
    source: str | None = None  # whose documents the copies are put behind; those of all sources if not given

    def __post_init__(self) -> None:
        counts = (self.copies,) if isinstance(self.copies, int) else tuple(self.copies)
        object.__setattr__(self, "copies", counts)
        if (self.text is None) == (self.made == 0):
            raise RecipeError("canary: give a text, or a number of strings to be made, as in made: 10")
        if self.text is not None and not self.text.strip():
            raise RecipeError("canary: the text is empty; nothing could be found again")
        if self.text is not None and len(counts) != 1:
            raise RecipeError(f"canary: a text has one number of copies, got {list(counts)}; they are for made strings")
        if not counts or min(counts) < 1 or len(set(counts)) < len(counts):
            raise RecipeError(f"canary: copies are numbers from 1, each once, got {list(counts)}")
        if self.made < 0 or not 1 <= self.digits <= 100:
            raise RecipeError(f"canary: need made >= 0 and 1 <= digits <= 100, got {self.made} and {self.digits}")
        if self.format.count(NUMBER_PLACE) != 1:
            raise RecipeError(f'canary: the format has {NUMBER_PLACE} once, for the number; got "{self.format}"')
        if self.made > 10**self.digits // 100:
            raise RecipeError(
                f"canary: {self.made} numbers of {self.digits} digits are easily guessed; use more digits"
            )


class Planted(NamedTuple):
    """A canary: `copies` documents with this text, behind documents of `source`, or of any for None.

    name   "canary-2" for the second entry of the recipe; of made strings, with copies and number: "canary-2-100-1"
    """

    name: str
    text: str
    copies: int
    source: str | None

    @property
    def names(self) -> list[str]:
        """The ids that the documents are given, before they are hashed."""
        return [f"{self.name}/{copy}" for copy in range(1, self.copies + 1)]


def canaries(entries: Sequence[Canary], seed: int, sources: Sequence[str]) -> list[Planted]:
    """What the entries of a recipe plant.

    sources   of the recipe

    Raises RecipeError if a source is not there, if there are too many, or if one text contains another: they could not
    be told apart when they are found.
    """
    planted = []
    for number, entry in enumerate(entries, 1):
        if entry.source is not None and entry.source not in sources:
            hint = did_you_mean(entry.source, sources) or "."
            raise RecipeError(f'canary: there is no source "{entry.source}"{hint} There are: {", ".join(sources)}.')
        name = f"{SOURCE}-{number}"
        assert isinstance(entry.copies, tuple)
        if entry.text is not None:
            planted.append(Planted(name, entry.text, entry.copies[0], entry.source))
            continue
        for copies in entry.copies:
            for serial in range(1, entry.made + 1):
                own = f"{name}-{copies}-{serial}"
                text = entry.format.replace(NUMBER_PLACE, _digits(seed, own, entry.digits))
                planted.append(Planted(own, text, copies, entry.source))
    if len(planted) > MAX_CANARIES:
        raise RecipeError(f"canary: {len(planted):,d} strings; {MAX_CANARIES:,d} at most can be planted")
    ordered = sorted(planted, key=lambda one: len(one.text))
    joined = "\0".join(canary.text for canary in ordered)
    for canary in ordered:
        if joined.count(canary.text) != 1:
            raise RecipeError(
                f'canary: {canary.name} ("{canary.text:.60}") is in the text of another; they must differ'
            )
    return planted


def _digits(seed: int, name: str, digits: int) -> str:
    number = int.from_bytes(hashlib.shake_256(f"{seed}\0{name}".encode()).digest(digits), "big") % 10**digits
    return f"{number:0{digits}d}"
