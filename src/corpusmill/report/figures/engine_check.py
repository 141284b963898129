"""Which engine encoded the tokens, and whether it agrees with the reference tokenizer."""

from dataclasses import dataclass

from corpusmill.report.numbers import number, plural
from corpusmill.report.tables import RunTables


@dataclass(frozen=True)
class EngineCheck:
    """What a run compared.

    engines     that encoded the tokens; more than one if the units ran on different machines
    reference   the tokenizer that they were compared with, None if that is not recorded
    documents   that were encoded by both, and `differing`, those whose ids differ
    """

    engines: tuple[str, ...]
    reference: str | None
    documents: int
    differing: int


def engine_check(tables: RunTables) -> EngineCheck | None:
    """None if the run has no tokens."""
    # The pass that writes the texts encodes them; in earlier versions a stage did.
    facts = (tables.files.facts(stage) for stage in tables.files.stages)
    checked = next((stage["checked"] for stage in facts if "checked" in stage), None)
    if not checked:
        return None
    engines = [pair.split(" ") for pair in checked.get("engines", {})]
    reference = engines[0][1] if engines else None
    return EngineCheck(tuple(name for name, _ in engines), reference, checked["documents"], checked["differing"])


def in_words(check: EngineCheck | None) -> str | None:
    """The same in a sentence or two."""
    if check is None:
        return None
    engine = f"Token ids are from {' and '.join(check.engines)}" if check.engines else ""
    if not check.documents and check.engines:
        return f"{engine}, the reference tokenizer itself, so nothing was compared."
    result = f"{number(check.differing)} DIFFER" if check.differing else "all identical"
    name = f" ({check.reference})" if check.reference else ""
    was = "was" if check.documents == 1 else "were"
    compared = f"{plural(check.documents, 'document')} {was} also encoded by the reference tokenizer{name}: {result}."
    return f"{engine}. {compared}" if engine else compared
