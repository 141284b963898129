"""Measure the mill on the workload: python -m benchmarks --workload DIR [NAME …]

DIR is made by benchmarks/workload.py; --big names a second one, of several times the size, for the memory of whole
runs. Peers are measured in the same run if --peer names the python of an environment that has them, which `make bench`
makes; --data adds documents that were really crawled, see benchmarks/peers/parity.py. Prints Markdown, as in
RESULTS.md, and last every figure beside its bar; exits with 1 if one was missed. Nothing else should run
on the machine: the load before is printed, and CPU seconds beside wall seconds.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from benchmarks.common import Figure, Workload, heading, verdict
from benchmarks.peers import dedup, rules
from benchmarks.speed import (
    find,
    loader,
    map_pass,
    measures,
    models,
    more_input,
    roofline,
    small_input,
    startup,
    tokens,
    two_workers,
    what_if,
    whole_run,
)
from corpusmill.text import warming

NAMES = (
    "measures",
    "models",
    "tokens",
    "loader",
    "rules",
    "dedup",
    "what_if",
    "find",
    "map_pass",
    "whole_run",
    "roofline",
    "two_workers",
    "more_input",
    "small_input",
    "startup",
)
PRICE = f"what a core-hour is assumed to cost, for what tokens cost in whole_run; {whole_run.CORE_HOUR} if not given"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which; all if none is named: {', '.join(NAMES)}")
    parser.add_argument("--workload", type=Path, required=True)
    parser.add_argument("--big", type=Path, help="a larger workload, for whole_run")
    parser.add_argument(
        "--peer", type=Path, help="the python of an environment with the peers, for those two and tokens"
    )
    parser.add_argument("--formats", type=Path, help="the python of one with other loaders, for loader: `make interop`")
    parser.add_argument("--data", type=Path, help="folder of real documents, as for parity")
    parser.add_argument("--core-hour-price", type=float, default=whole_run.CORE_HOUR, metavar="USD", help=PRICE)
    parser.add_argument("--runs", type=int, default=3, help="of which the median is taken; whole runs and peers once")
    parser.add_argument("--scratch", type=Path, help="folder for what runs write; a temporary one if not given")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    workload = Workload.open(options.workload)
    big = Workload.open(options.big) if options.big else None
    heading(workload)
    if big:
        print(f"The larger workload: {big}\n")
    warming.warm()
    scratch = Path(tempfile.mkdtemp(prefix="corpusmill-", dir=options.scratch))
    figures: list[Figure] = []
    try:
        for name in options.names or NAMES:
            folder = scratch / name
            match name:
                case "measures":
                    figures += measures.run(workload, options.runs, folder, options.data)
                case "models":
                    figures += models.run(workload, options.runs, folder, options.data)
                case "tokens":
                    figures += tokens.run(workload, options.runs, folder, options.peer)
                case "loader":
                    figures += loader.run(workload, options.runs, folder, options.formats)
                case "rules":
                    figures += rules.run(workload, options.runs, folder, options.peer, options.data)
                case "dedup":
                    figures += dedup.run(workload, options.runs, folder, options.peer)
                case "what_if":
                    figures += what_if.run(workload, options.runs, folder)
                case "find":
                    figures += find.run(workload, options.runs, folder)
                case "map_pass":
                    figures += map_pass.run(workload, options.runs, folder)
                case "whole_run":
                    figures += whole_run.run(workload, options.runs, folder, big, options.core_hour_price)
                case "roofline":
                    figures += roofline.run(workload, options.runs, folder)
                case "two_workers":
                    figures += two_workers.run(workload, options.runs, folder)
                case "more_input":
                    figures += more_input.run(workload, options.runs, folder)
                case "small_input":
                    figures += small_input.run(workload, options.runs, folder)
                case "startup":
                    figures += startup.run(workload, options.runs, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return verdict(figures)


if __name__ == "__main__":
    raise SystemExit(main())
