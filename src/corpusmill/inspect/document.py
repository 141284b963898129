"""One document of a run: its history, its text with what was measured in it, and its duplicate beside it."""

from collections.abc import Sequence
from dataclasses import asdict
from difflib import SequenceMatcher
from re import findall
from typing import Any

from corpusmill.errors import AssetError, InputError, RecipeError
from corpusmill.inspect.listing import Listing
from corpusmill.inspect.marks import MAX_TEXT_SHOWN, MarkedSpan, marks, parts
from corpusmill.inspect.trace import Trace
from corpusmill.recipe.names import labels
from corpusmill.report.explain import DocumentHistory, history
from corpusmill.report.tables import RunTables
from corpusmill.report.visible import not_stored, visible

MAX_COMPARED_UNITS = 6_000  # words or lines of both texts of a pair, of which differences are looked for


def document(
    listing: Listing,
    id: str,
    file: str = "",
    position: str = "",
    tokens: tuple[int, int] | None = None,
    trace: Trace | None = None,
) -> dict[str, Any]:
    """All that is known of a document, as `explain` has it, with the text in `parts` (see `marks.parts`), the `legend`
    of its marks, with how often each occurs, and how much of the text is `left_out`.

    file, position   of it, where several have the id; the first of them if not given
    tokens           [start, stop) of the document, which are marked as `asked`, where `trace` finds them

    Raises InputError if there is none.
    """
    record = _history(listing, id, file, position)
    answer = asdict(record)
    text = answer.pop("text")
    about: dict[str, Any] = {"parts": None, "legend": [], "left_out": 0, "not_stored": None, "asked": None}
    if text is None:
        about["not_stored"] = not_stored(answer)
    else:
        answer["bytes"] = len(text.encode())  # of what is shown: what drops it may have left less
        steps, later = _steps(listing.tables, record)
        shown = text[:MAX_TEXT_SHOWN]
        where = marks(shown, {"url": record.url}, steps, later)
        if tokens and trace and (span := trace.span(text, record.shards, *tokens)):
            about["asked"] = f"tokens {tokens[0]:,d} to {tokens[1] - 1:,d}"
            where = {about["asked"]: [MarkedSpan(*(min(index, len(shown)) for index in span))], **where}
        about |= {
            "parts": parts(shown, where),
            "legend": [(name, len(spans)) for name, spans in where.items()],
            "left_out": len(text) - len(shown),
        }
    return answer | about


def pair(listing: Listing, id: str, file: str = "", position: str = "") -> dict[str, Any]:
    """A duplicate beside the document that is kept instead of it, which is `duplicate_of`: its outcome, and the parts
    of both texts, each with whether the other text has it there. Null texts where one is not stored.

    Raises InputError if the document is no duplicate.
    """
    duplicate = _history(listing, id, file, position)
    step = next((step for step in duplicate.steps if step.duplicate_of), None)
    if step is None or step.duplicate_of is None:
        raise InputError(f"{id} is not a duplicate of another document")
    kept_document = _history(listing, step.duplicate_of.id)
    texts = duplicate.text, kept_document.text
    parts_of = (None, None) if None in texts else compared(texts[0] or "", texts[1] or "")
    return {
        "step": step.step,
        "similarity": step.duplicate_of.similarity,
        "lost": (step.signals or {}).get("lost"),
        "document": _side(duplicate, parts_of[0]),
        "duplicate_of": _side(kept_document, parts_of[1]),
    }


def compared(text: str, other_text: str) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """The parts of two texts, each with whether the other has it too: by words, or by lines where there are many.

    >>> compared("a b c", "a c")
    ([('a ', True), ('b ', False), ('c', True)], [('a ', True), ('c', True)])
    """
    texts = text[:MAX_TEXT_SHOWN], other_text[:MAX_TEXT_SHOWN]
    units = [findall(r"\s*\S+\s*|\s+", part) for part in texts]
    if sum(map(len, units)) > MAX_COMPARED_UNITS:
        units = [part.splitlines(keepends=True) for part in texts]
    if sum(map(len, units)) > MAX_COMPARED_UNITS:
        units = [side[: MAX_COMPARED_UNITS // 2] for side in units]
    own_parts, other_parts = list[tuple[str, bool]](), list[tuple[str, bool]]()
    stripped, other_stripped = ([unit.strip() for unit in side] for side in units)
    matcher = SequenceMatcher(None, stripped, other_stripped, autojunk=False)
    for how, a, b, c, d in matcher.get_opcodes():
        for target, side, start, end in ((own_parts, units[0], a, b), (other_parts, units[1], c, d)):
            if start < end:
                target.append((visible("".join(side[start:end])), how == "equal"))
    return own_parts, other_parts


def _side(record: DocumentHistory, text: Sequence[tuple[str, bool]] | None) -> dict[str, Any]:
    about = ("id", "source", "file", "position", "url", "date", "kept", "dropped_by", "bytes", "tokens")
    return {name: getattr(record, name) for name in about} | {"parts": text}


def _history(listing: Listing, id: str, file: str = "", position: str = "") -> DocumentHistory:
    for address in listing.places(id):
        if file in ("", address[1]) and position in ("", str(address[2])):
            return history(listing.tables, *address, listing.units)
    raise InputError(f'{listing.tables.folder}: there is no document with the id "{id}"')


def _steps(tables: RunTables, record: DocumentHistory) -> tuple[list[Any], list[Any]]:
    """The recipe's steps that are for a document; and those of them that its text has not passed. Both are empty where
    the recipe's own steps cannot be imported from here."""
    try:
        steps = tables.files.recipe.steps
    except (RecipeError, AssetError):
        return [], []
    own, later, passed = list[Any](), list[Any](), record.dropped_by is not None
    for label, step in zip(labels(steps), steps):
        passed = passed and label != record.dropped_by
        if record.source not in tables.files.only.get(label, (record.source,)):
            continue
        own.append(step)
        unchanged = getattr(step, "remove_lines", True) is False
        if unchanged or (record.dropped_by is not None and not passed):
            later.append(step)
    return own, later
