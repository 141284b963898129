"""What a model is asked to make of a document: prompts that ship, and those of a recipe."""

from pathlib import Path
from typing import Any

import orjson

from corpusmill import assets
from corpusmill.errors import RecipeError

TEXT_PLACE = "{text}"
ONLY = "Answer with the new text alone, without an introduction or remarks. Write in the language of the document."
FAITHFUL = (
    "Keep every name, number, date, formula and quantity as it stands, and add nothing that the document does not say."
)
# Tasks of the field, in words of ours: Maini et al. 2024 (WRAP), arXiv:2401.16380; Su et al. 2024 (Nemotron-CC),
# arXiv:2412.02595, section 2.3; FinePhrase, arXiv:2604.13977.
SHIPPED = {
    "wikipedia": "Rewrite the document below as an article of an encyclopedia would put it: full sentences, neutral "
    f"and precise, in an order that a reader can follow. Leave out advertising, navigation and asides. {FAITHFUL}",
    "question_answer": "Write questions that the document below answers, and their answers, from the most important to "
    'the least: as many as it has things to ask about, eight at most. Each question stands alone, without "the '
    'document". Put each on a line that begins with "Question:", its answer on one that begins with "Answer:". '
    f"{FAITHFUL}",
    "distil": "Shorten the document below to what somebody must know to have understood it. Keep definitions, reasons, "
    f"steps and results; leave out repetition, filler and chat. {FAITHFUL}",
    "facts": "List what the document below says that could be looked up elsewhere, one fact a line, each line a whole "
    f'sentence that is understood without the others, beginning with "- ". {FAITHFUL}',
    "table": "If the document below has figures or properties of several things, put them into one table of Markdown "
    "and say in a paragraph before it what it compares and in which units; else explain in prose what its parts have "
    f"in common and how they differ. {FAITHFUL}",
    "code": "Explain the code in the document below to somebody who knows the language: what it is for, how it goes "
    "about it step by step, what goes in and comes out, and what can go wrong. Repeat the code where it is explained, "
    f"unchanged. {FAITHFUL}",
    "faq": "Turn the document below into answers to what a newcomer would ask about its subject, as a page of frequent "
    f"questions: a short heading that is a question, then a paragraph that answers it. {FAITHFUL}",
}


def prompt_text(prompt: str) -> str:
    """A prompt with TEXT_PLACE where the document is inserted: itself, one that ships, or the content of a file.

    Raises RecipeError if it has no such place, AssetError if there is no such file.
    """
    if prompt in SHIPPED:
        return f"{SHIPPED[prompt]} {ONLY}\n\n<document>\n{TEXT_PLACE}\n</document>"
    text = prompt
    if name := asset_of(prompt):
        text = assets.load(name, _read_text)
    if TEXT_PLACE not in text:
        where = f"{prompt}: the prompt" if asset_of(prompt) else "prompt"
        raise RecipeError(f"{where} has no {TEXT_PLACE}, where the document is inserted")
    return text


def asset_of(prompt: str) -> str | None:
    """The file that a prompt names; None if it is the text itself, or ships."""
    return None if prompt in SHIPPED or TEXT_PLACE in prompt or "\n" in prompt else prompt


def read_json(name: str) -> Any:
    """The content of a file of JSON. Raises RecipeError if it is none."""
    try:
        return assets.load(name, _read_json)
    except ValueError as error:
        raise RecipeError(f"{name} is not JSON: {error}") from error


def _read_text(path: Path) -> str:
    return path.read_text("utf-8")


def _read_json(path: Path) -> Any:
    return orjson.loads(path.read_bytes())
