"""What later stages rely on of the results of a pass."""

from dataclasses import dataclass

EXTRACT = "extract"  # the stage before the first pass that extracts texts, where there is one, see `extraction`
MEASURED = "measure_dropped"  # the note of how far dropped documents were measured; there is none if to the end
TEXT_GROUPS = "text_groups"  # the note of the bytes of text in each row group of `docs`, with commas between

SPENT = "ms_in."  # before a label: the note of the milliseconds that a step took which calls functions of a user's


@dataclass(frozen=True)
class UnitOfPass:
    """A unit of the pass before, by its number: input of units that take its documents."""

    number: int
