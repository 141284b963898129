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

MAX_SLICES = 100_000_000  # of a plan, at most: 80 USD for two requests each, and days of them on one machine
REQUEST_BYTES = 8 << 20  # bytes of an input or output file to a request
PRICED = ("put", "get", "storage", "core")


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
    result = []
    groups = {stage.name for stage in plan.stages}
    for stage in plan.stages:
        for request in stage.work.requests if isinstance(stage.work, Pass) else ():
            if f"{request.label}-group" not in groups:  # it ranks or draws documents, and looks for no equal keys
                continue
            shape = getattr(request.step, "shape", (1,))
            documents_per_partition = documents // request.partitions_per_band + 1
            parts = request.partitions_per_band * shape[0]
            sketches = -(-documents // SKETCHED) if f"{request.label}-sketches" in groups else 0
            together = max(1, min(grouped(units) // documents_per_partition, parts))
            result.append(Shuffle(request.label, units, -(-parts // together), sketches))
    return result


def check_shuffles(shuffles: Sequence[Shuffle], limit: int, unit_mb: int) -> None:
    """Raises InputError if all of them together have more slices than the limit."""
    slices = sum(shuffle.slices for shuffle in shuffles)
    if slices > limit:
        worst = max(shuffles, key=lambda shuffle: shuffle.slices)
        larger = 1 << math.ceil(math.log2(max(unit_mb * slices / limit, 1)))
        raise InputError(
            f"the shuffle reads {slices:,} slices of {worst.files:,} key files, more than {limit:,}: {worst.step} has "
            f"{worst.units:,} units that group, and each reads of every file. Larger units make fewer files: --set "
            f"run.unit_mb={larger}, where files of the input are as large. Or allow more with --most-slices {slices}."
        )


@dataclass(frozen=True)
class Requests:
    """Of an object store, where inputs and the run's folder are in one. `put` are PUT, POST and LIST."""

    put: int
    get: int


def requests(
    stages: Mapping[str, tuple[int, int, int]], shuffles: Sequence[Shuffle], input_bytes: int, output_bytes: int
) -> Requests:
    """
    stages         stage -> units, outputs of each, bytes of all
    input_bytes    of the files that are read
    output_bytes   that are read back at the end
    """
    put_count = get_count = 0
    for units, outputs, size in stages.values():
        put_count += units * (outputs + 2)  # its files, a lease, a commit
        put_count += size // REQUEST_BYTES  # parts of large files
        put_count += 4 + units // 1000  # plan, description, results; lists
        get_count += units + 2 * units + size // REQUEST_BYTES  # commits; what an earlier stage left for each unit
    get_count += 2 * sum(shuffle.slices for shuffle in shuffles)  # where a slice begins, and what it holds
    return Requests(put_count, get_count + input_bytes // REQUEST_BYTES + output_bytes // REQUEST_BYTES)


def prices(table: Path | None) -> dict[str, float]:
    """item -> USD for one, of a CSV with the columns item, usd, per; None: the table that ships, which says its date.

    Raises InputError if it cannot be read as one.
    """
    source = table or files("corpusmill") / "data" / "prices.csv"
    try:
        lines = [line for line in source.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{source}: cannot be read as a table of prices: {error}") from None
    by_item: dict[str, float] = {}
    for number, row in enumerate(csv.DictReader(lines), 1):
        try:
            item, price = row["item"].strip(), float(row["usd"]) / float(row.get("per") or 1)
        except (KeyError, TypeError, ValueError, ZeroDivisionError, AttributeError):
            raise InputError(
                f"{source}: row {number} is no price; it needs item,usd,per as in: put,5.00,1000000"
            ) from None
        if item not in PRICED or not 0 <= price < math.inf:
            raise InputError(f"{source}: row {number}: a price is of {', '.join(PRICED)}, and not negative; got {item}")
        by_item[item] = price
    if not by_item:
        raise InputError(f"{source}: has no prices; a row is item,usd,per as in: put,5.00,1000000")
    return by_item


def cost(counts: Requests, stored: float, core_hours: float, prices: Mapping[str, float]) -> dict[str, float]:
    """item -> USD, of those that have a price; `stored` bytes for a month."""
    amounts = {"put": counts.put, "get": counts.get, "storage": stored / 1e9, "core": core_hours}
    return {item: amount * prices[item] for item, amount in amounts.items() if item in prices}
