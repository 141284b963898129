"""Which engine encoded the tokens, whether it agrees with the reference tokenizer, and what they do not express."""

from dataclasses import dataclass

from corpusmill.models.unexpressed import Unexpressed
from corpusmill.models.unexpressed import in_words as unexpressed_in_words
from corpusmill.report.numbers import number, plural
from corpusmill.report.tables import RunTables


@dataclass(frozen=True)
class EngineCheck:
    """What a run compared.

    engines     that encoded the tokens; more than one if the units ran on different machines
    reference   the tokenizer that they were compared with, None if that is not recorded
    documents   that were encoded by both, and `differing`, those whose ids differ
    unexpressed of all documents that were encoded; None of a tokenizer that expresses every text
    """

    engines: tuple[str, ...]
    reference: str | None
    documents: int
    differing: int
    unexpressed: Unexpressed | None = None


def engine_check(tables: RunTables) -> EngineCheck | None:
    """None if the run has no tokens."""
    # The pass that writes the texts encodes them; in earlier versions a stage did.
    stages = (tables.files.facts(stage) for stage in tables.files.stages)
    facts = next((facts for facts in stages if "checked" in facts), None)
    if not facts or not (checked := facts["checked"]):
        return None
    lacking = Unexpressed(**facts["unexpressed"]) if "unexpressed" in facts else None
    engines = [pair.split(" ") for pair in checked.get("engines", {})]
    reference = engines[0][1] if engines else None
    names = tuple(name for name, _ in engines)
    return EngineCheck(names, reference, checked["documents"], checked["differing"], lacking)


def in_words(check: EngineCheck | None) -> str | None:
    """The same in a few sentences."""
    if check is None:
        return None
    lacking = unexpressed_in_words(check.unexpressed) if check.unexpressed else ""
    return _comparison(check) + (f" Warning: {lacking}." if lacking else "")


def _comparison(check: EngineCheck) -> str:
    engine = f"Token ids are from {' and '.join(check.engines)}" if check.engines else ""
    if not check.documents and check.engines:
        return f"{engine}, the reference tokenizer itself, so nothing was compared."
    result = f"{number(check.differing)} DIFFER" if check.differing else "all identical"
    name = f" ({check.reference})" if check.reference else ""
    was = "was" if check.documents == 1 else "were"
    compared = f"{plural(check.documents, 'document')} {was} also encoded by the reference tokenizer{name}: {result}."
    return f"{engine}. {compared}" if engine else compared
