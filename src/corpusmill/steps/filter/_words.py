"""What the rules that datatrove has, too, count as a word: text between white space, or what spaCy cuts it into."""

from importlib import import_module
from typing import Literal

from corpusmill.errors import RecipeError

Words = Literal["white_space", "spacy"]
RULES = "spacy-words-en"  # the asset


def check_words(words: str, step: str) -> None:
    """Raises RecipeError for another definition. Imports what measures spaCy's words, so that it is compiled before the
    run."""
    if words not in ("white_space", "spacy"):
        raise RecipeError(f'{step}: words is "white_space" or "spacy", got "{words}"')
    if words == "spacy":
        import_module("corpusmill.text.spacy_stats")


def family(name: str, words: Words) -> str:
    """The family of measures over these words: "stats" or "contained", see `corpusmill.measures`."""
    return name if words == "white_space" else f"{name}_spacy"


def assets_of(words: Words) -> tuple[str, ...]:
    return () if words == "white_space" else (RULES,)
