"""Do our steps give what the tests of other projects expect? python -m benchmarks.conformance [PEER …] --data DIR

DIR/vectors holds a PEER.jsonl.gz of cases for each peer; none comes with the repository. Prints x of y for each peer
and kind, and every difference without a reason. --unicode FOLDER runs the test files of the Unicode standard, too
(Debian package unicode-data, or unicode.org). --write writes docs/conformance.md; without it the page is compared with
what it would be, if all peers and Unicode are run. Exits with 1 if a difference has no reason, a fault of ours is left,
fewer than 95 % are equal, or the page is not up to date.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from benchmarks.common import Figure, heading, row, table, verdict
from benchmarks.conformance import page, unicode
from benchmarks.conformance.results import NAMES, Result, results
from corpusmill.text import warming

EQUAL = 0.95  # of the cases with a counterpart


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", nargs="*", metavar="PEER", help=f"which; all if none is named: {', '.join(NAMES)}")
    parser.add_argument("--data", type=Path, required=True, help="the folder with `vectors`")
    parser.add_argument("--unicode", type=Path, help="a folder with NormalizationTest.txt and auxiliary/")
    parser.add_argument("--write", action="store_true", help="write docs/conformance.md")
    parser.add_argument("--show", action="store_true", help="print every case that differs")
    options = parser.parse_args()
    if unknown := set(options.peers) - set(NAMES):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    heading("the tests of other projects", "benchmarks.conformance")
    warming.warm()
    scratch = Path(tempfile.mkdtemp(prefix="corpusmill-"))
    try:
        found = {name: results(name, options.data / "vectors", scratch / name) for name in options.peers or NAMES}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    figures = show(found, options.show)
    standard = unicode.run(options.unicode) if options.unicode else None
    figures += unicode.figures(standard) if standard else []
    if not options.peers and standard:
        figures.append(page.publish(found, standard, options.write))
    return verdict(figures)


def show(found: dict[str, list[Result]], every: bool) -> list[Figure]:
    """Print x of y for each peer and kind; returns the figures that have a bar."""
    table("peer: kind", "cases", "with a counterpart", "equal")
    for name, cases in found.items():
        for kind in sorted({result.case.area for result in cases}):
            of = [result for result in cases if result.case.area == kind]
            answered = [result for result in of if result.ours]
            row(f"{name}: {kind}", len(of), len(answered), sum(result.equal for result in answered))
    answered = [result for cases in found.values() for result in cases if result.ours]
    print()
    unexplained = [result for result in answered if not result.equal and result.reason is None]
    for result in unexplained:
        print(f"- no reason: {result}")
    for result in answered if every else ():
        if not result.equal and result.reason is not None:
            print(f"- {result.reason.kind}: {result}")
    faults = sum(result.reason is not None and result.reason.kind == "ours" for result in answered)
    equal = sum(result.equal for result in answered)
    return [
        Figure("vectors: equal, of those with a counterpart", equal / max(1, len(answered)), "", EQUAL, digits=4),
        Figure("vectors: differences without a reason", len(unexplained), "", 1, "below", 0),
        Figure("vectors: faults of ours", faults, "", 1, "below", 0),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
