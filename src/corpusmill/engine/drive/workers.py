"""Whether there is work for all workers."""

from collections.abc import Sequence

from corpusmill.display import setting
from corpusmill.engine.plan.inputs import MEGABYTE, suffix, unit_bytes
from corpusmill.engine.plan.plan import RunPlan
from corpusmill.engine.work.pass_parts import InputPieces
from corpusmill.store.units import Unit


def too_few_units(plan: RunPlan, units: Sequence[Unit], workers: int) -> str:
    """Why some of the workers have nothing to do in the first pass, and what would change that; "" if all have.

    units   of the first pass
    """
    if len(units) >= workers:
        return ""
    target = unit_bytes(plan.inputs, plan.recipe.run.unit_mb)
    largest = max(_texts_of(plan, unit) for unit in units) if units else 0.0
    total = sum(source.text_size for source in plan.inputs)
    have = f"{len(units)} of {workers} workers have work in the first pass: the input is {_units(len(units))}"
    if total < 2 * MEGABYTE:
        return f"{have}, too small for more"
    if largest > 1.5 * target:
        return f"{have}, of files that cannot be cut (compressed as a whole). To use more workers, split the files"
    size = max(1, target // MEGABYTE)
    if size == 1:
        return f"{have} of at most 1 MB of text, the least"
    smaller = max(1, min(size // 2, int(total / MEGABYTE / workers)))
    return f"{have} of at most {size} MB of text. For smaller ones: {setting('run.unit_mb', smaller)}"


def _texts_of(plan: RunPlan, unit: Unit) -> float:
    """Bytes of text of the longest piece of a unit, about."""
    if not isinstance(unit.inputs, InputPieces):
        return 0.0
    return max(
        piece.size * plan.inputs[part.source].expands.get(suffix(piece.file.name), 1.0)
        for part in unit.inputs.sources
        for piece in part.pieces
    )


def _units(count: int) -> str:
    return f"{count} unit{'s' * (count != 1)}"
