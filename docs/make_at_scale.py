"""Write the tables of docs/guide/at-scale.md: python docs/make_at_scale.py

They are reckoned from benchmarks/at_scale.json, from the prices that ship and from constants of the code. A test fails
when the page shows something else.
"""

import json
import re
from pathlib import Path

from corpusmill.engine.plan.lower import PARTITION
from corpusmill.ops.estimate.requests import MAX_SLICES, REQUEST_BYTES, prices
from corpusmill.steps.corpus import MOST_RECORDS, SKETCHED, grouped

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guide" / "at-scale.md"
COSTS = json.loads((ROOT / "benchmarks" / "at_scale.json").read_text("utf-8"))
TABLE = re.compile(r"<!-- (\w+) -->\n.*?<!-- end -->", re.DOTALL)
BANDS = {"exact": 1, "minhash": 16}
UNIT_MB = (128, 1024, 4096)
CORES = 1000
GROUPED = 70  # bytes of a record in a unit that groups, where all of them share their keys
CLOUDSORT = 0.97  # USD for a TB shuffled: Exoshuffle-CloudSort, arXiv:2301.03734
M, A = ({name: value for name, (value, _) in COSTS[kind].items()} for kind in ("measured", "assumed"))
KEPT = A["pages"] * M["kept"]
TEXT = KEPT * M["text_bytes_per_page"]
TOKENS = TEXT * M["unique"] / A["bytes_per_token"]


def seconds() -> dict[str, float]:
    """Stage -> seconds of one core."""
    return {
        "read, extract, filter, make keys": A["pages"] / M["pages_per_core_second"],
        "exact and near dedup": KEPT * M["dedup_core_seconds_per_document"],
        "second pass": TEXT / 1e6 * M["pass_2_seconds_per_mb"],
        "tokens and shards": TEXT * M["unique"] / 1e6 * M["token_seconds_per_mb"],
    }


def shuffle(unit_mb: int) -> dict[str, float]:
    """Units, files, slices, requests of the plan with units of this size."""
    units = A["warc_bytes"] / (unit_mb * (1 << 20))
    per_band = 1 << int(A["warc_bytes"] // PARTITION).bit_length()
    together = max(1, int(grouped(int(units)) // (KEPT / per_band + 1)))
    groups = {name: -(-bands * per_band // together) for name, bands in BANDS.items()}
    slices = units * sum(groups.values()) + KEPT / SKETCHED * groups["minhash"]
    all_units = 4 * units + sum(groups.values())
    put = 6 * all_units
    get = 2 * slices + 3 * all_units + A["warc_bytes"] / A["gzip"] / REQUEST_BYTES
    return {
        "units": units,
        "groups": sum(groups.values()),
        "all": all_units,
        "slices": slices,
        "slice": KEPT * A["key_bytes_per_document"] / slices,
        "put": put,
        "get": get,
        "seconds": A["pages"] / units / M["pages_per_core_second"],
        "driver": all_units * M["driver_bytes_per_unit"],
        "planning": all_units * M["driver_seconds_per_unit"],
    }


def tables() -> dict[str, str]:
    price = prices(None)
    work = seconds()
    hours = {name: one / 3600 for name, one in work.items()}
    plans = {size: shuffle(size) for size in UNIT_MB}
    keys = KEPT * A["key_bytes_per_document"]
    disk = TEXT * M["disk_per_text"]
    best = plans[UNIT_MB[-1]]
    usd = {
        "cores": sum(hours.values()) * price["core"],
        "requests": best["put"] * price["put"] + best["get"] * price["get"],
        "a month of the run's folder": disk / 1e9 * price["storage"],
    }
    whole = sum(usd.values())
    core_rows = [[name, _n(one, 1), _n(one / CORES * 60, 1)] for name, one in hours.items()]
    core_rows.append(["**all**", _n(sum(hours.values()), 1), _n(sum(hours.values()) / CORES * 60, 1)])
    rows = {
        "units, first pass": [_n(plan["units"]) for plan in plans.values()],
        "seconds of one, a core": [_n(plan["seconds"], 1) for plan in plans.values()],
        "units of all stages": [_n(plan["all"]) for plan in plans.values()],
        "units that group keys": [_n(plan["groups"]) for plan in plans.values()],
        "slices of key files": [_n(plan["slices"] / 1e6) + " M" for plan in plans.values()],
        "bytes of a slice": [_n(plan["slice"]) for plan in plans.values()],
        "within --most-slices": ["yes" if plan["slices"] <= MAX_SLICES else "no" for plan in plans.values()],
        "GET requests, USD": [_n(plan["get"] * price["get"]) for plan in plans.values()],
        "PUT requests, USD": [_n(plan["put"] * price["put"], 2) for plan in plans.values()],
        "driver, GB": [_n(plan["driver"] / 1e9, 2) for plan in plans.values()],
        "driver, seconds to plan and record": [_n(plan["planning"]) for plan in plans.values()],
    }
    return {
        "costs": _table(
            ["", "value", "from"],
            [
                [name.replace("_", " "), f"{value:,.8g}", said]
                for kind in ("measured", "assumed")
                for name, (value, said) in COSTS[kind].items()
            ],
        ),
        "hours": _table(["", "core-hours", f"minutes on {CORES:,} cores"], core_rows),
        "plans": _table(["run.unit_mb", *map(str, UNIT_MB)], [[name, *cells] for name, cells in rows.items()]),
        "bytes": _table(
            ["", "TB", ""],
            [
                ["input read, gzip", _n(A["warc_bytes"] / A["gzip"] / 1e12, 1), "GET, once"],
                ["text that rules keep", _n(TEXT / 1e12, 2), "in the run's folder"],
                ["keys, shuffled", _n(keys / 1e12, 2), f"at {CLOUDSORT} USD per TB: {keys / 1e12 * CLOUDSORT:.2f} USD"],
                ["all of the run's folder", _n(disk / 1e12, 2), ""],
            ],
        ),
        "memory": _table(
            ["", "GB"],
            [
                ["a worker", _n(M["worker_bytes"] / 1e9, 1)],
                ["a unit that groups keys, at most", _n(MOST_RECORDS * GROUPED / 1e9, 2)],
                ["other units of near dedup", _n(M["dedup_unit_bytes"] / 1e9, 2)],
                [f"driver, units of {UNIT_MB[-1]} MB", _n(best["driver"] / 1e9, 2)],
            ],
        ),
        "price": _table(
            ["", "USD", "USD for 10^12 tokens"],
            [
                *([name, _n(one), _n(one / TOKENS * 1e12)] for name, one in usd.items()),
                ["**all**", _n(whole), _n(whole / TOKENS * 1e12)],
            ],
        ),
    }


def page(text: str) -> str:
    made = tables()

    def table(found: re.Match[str]) -> str:
        return f"<!-- {found[1]} -->\n\n{made[found[1]]}\n\n<!-- end -->" if found[1] in made else found[0]

    return TABLE.sub(table, text)


def _n(value: float, digits: int = 0) -> str:
    return f"{value:,.{digits}f}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
