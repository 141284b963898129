"""What the rules that datatrove has, too, count as a word: text between white space, what spaCy cuts it into, or that
with the scripts that have no spaces cut too."""

from importlib import import_module
from typing import Literal

from corpusmill.errors import RecipeError

Words = Literal["white_space", "spacy", "by_script"]
RULES = "spacy-words-en"  # the asset


def check_words(words: str, step: str) -> None:
    """Raises RecipeError for another definition. Imports what measures spaCy's words, so that it is compiled before the
    run."""
    if words not in ("white_space", "spacy", "by_script"):
        raise RecipeError(f'{step}: words is "white_space", "spacy" or "by_script", got "{words}"')
    if words != "white_space":
        import_module("corpusmill.text.script_stats")


def family(name: str, words: Words) -> str:
    """The family of measures over these words: of "stats" or "contained", see `corpusmill.steps.measures`."""
    return name if words == "white_space" else f"{name}_{words}"


def assets_of(words: Words) -> tuple[str, ...]:
    return () if words == "white_space" else (RULES,)
