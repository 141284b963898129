"""How many files and requests of an object store a plan makes, what they cost, and which shuffles are too large.

A shuffle reads, for each unit that groups keys, a slice of the key file of each unit of the pass before: slices are the
product of the two, and both grow with the corpus. Larger units make fewer of both files and slices.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from corpusmill.engine.plan.plan import RunPlan
from corpusmill.engine.work.passes import Pass
from corpusmill.errors import InputError
from corpusmill.steps.corpus import SKETCHED, grouped

SLICES = 100_000_000  # of a plan, at most: 80 USD for two requests each, and days of them on one machine
RANGE = 8 << 20  # bytes of an input or output file to a request
ITEMS = ("put", "get", "storage", "core")


@dataclass(frozen=True)
class Shuffle:
    """What a corpus step brings together.

    files      of keys: one a unit of the pass before
    units      that group keys
    sketches   files of sketches that were asked for: none of few documents, which are read where they are
    slices     one of each file for each of these units
    """

    step: str
    files: int
    units: int
    sketches: int = 0

    @property
    def slices(self) -> int:
        return (self.files + self.sketches) * self.units


def shuffles(plan: RunPlan, units: int, documents: int) -> list[Shuffle]:
    """Those of a plan whose first pass has so many units and documents."""
    found = []
    groups = {stage.name for stage in plan.stages}
    for stage in plan.stages:
        for request in stage.work.requests if isinstance(stage.work, Pass) else ():
            if f"{request.label}-group" not in groups:  # it ranks or draws documents, and looks for no equal keys
                continue
            shape = getattr(request.step, "shape", (1,))
            each = documents // request.partitions_per_band + 1
            parts = request.partitions_per_band * shape[0]
            sketches = -(-documents // SKETCHED) if f"{request.label}-sketches" in groups else 0
            together = max(1, min(grouped(units) // each, parts))
            found.append(Shuffle(request.label, units, -(-parts // together), sketches))
    return found


def check_shuffles(found: Sequence[Shuffle], most: int, unit_mb: int) -> None:
    """Raises InputError if all of them together have more than `most` slices."""
    slices = sum(shuffle.slices for shuffle in found)
    if slices > most:
        worst = max(found, key=lambda shuffle: shuffle.slices)
        larger = 1 << math.ceil(math.log2(max(unit_mb * slices / most, 1)))
        raise InputError(
            f"the shuffle reads {slices:,} slices of {worst.files:,} key files, more than {most:,}: {worst.step} has "
            f"{worst.units:,} units that group, and each reads of every file. Larger units make fewer files: --set "
            f"run.unit_mb={larger}, where files of the input are as large. Or allow more with --most-slices {slices}."
        )


@dataclass(frozen=True)
class Requests:
    """Of an object store, where inputs and the run's folder are in one. `put` are PUT, POST and LIST."""

    put: int
    get: int


def requests(
    stages: Mapping[str, tuple[int, int, int]], found: Sequence[Shuffle], input_bytes: int, output_bytes: int
) -> Requests:
    """
    stages         stage -> units, outputs of each, bytes of all
    input_bytes    of the files that are read
    output_bytes   that are read back at the end
    """
    put = get = 0
    for units, outputs, size in stages.values():
        put += units * (outputs + 2)  # its files, a lease, a commit
        put += size // RANGE  # parts of large files
        put += 4 + units // 1000  # plan, description, results; lists
        get += units + 2 * units + size // RANGE  # commits; what an earlier stage left for each unit
    get += 2 * sum(shuffle.slices for shuffle in found)  # where a slice begins, and what it holds
    return Requests(put, get + input_bytes // RANGE + output_bytes // RANGE)


def prices(table: Path | None) -> dict[str, float]:
    """item -> USD for one, of a CSV with the columns item, usd, per; None: the table that ships, which says its date.

    Raises InputError if it cannot be read as one.
    """
    source = table or files("corpusmill") / "data" / "prices.csv"
    try:
        lines = [line for line in source.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{source}: cannot be read as a table of prices: {error}") from None
    found: dict[str, float] = {}
    for number, row in enumerate(csv.DictReader(lines), 1):
        try:
            item, price = row["item"].strip(), float(row["usd"]) / float(row.get("per") or 1)
        except (KeyError, TypeError, ValueError, ZeroDivisionError, AttributeError):
            raise InputError(
                f"{source}: row {number} is no price; it needs item,usd,per as in: put,5.00,1000000"
            ) from None
        if item not in ITEMS or not 0 <= price < math.inf:
            raise InputError(f"{source}: row {number}: a price is of {', '.join(ITEMS)}, and not negative; got {item}")
        found[item] = price
    if not found:
        raise InputError(f"{source}: has no prices; a row is item,usd,per as in: put,5.00,1000000")
    return found


def cost(asked: Requests, stored: float, core_hours: float, prices: Mapping[str, float]) -> dict[str, float]:
    """item -> USD, of those that have a price; `stored` bytes for a month."""
    amounts = {"put": asked.put, "get": asked.get, "storage": stored / 1e9, "core": core_hours}
    return {item: amount * prices[item] for item, amount in amounts.items() if item in prices}
