"""Is what the mill decides right? python -m benchmarks.quality [NAME …] --data DIR [--workload DIR]

DIR holds real and labelled documents, see benchmarks/quality/copies.py; --workload adds the workload of the benchmarks,
made by benchmarks/workload.py. Prints Markdown, as in RESULTS.md, and last every figure beside its bar; exits with 1 if
one was missed. The machine may be busy: nothing here is a time.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from benchmarks.common import Figure, heading, verdict
from benchmarks.quality import (
    classifier,
    decontam,
    dedup,
    extraction,
    formulae,
    language,
    manuals,
    near,
    perplexity,
    pii,
    toxicity,
)
from corpusmill.text import warming

NAMES = {
    "classifier": classifier.run,
    "dedup": dedup.run,
    "near": near.run,
    "extraction": extraction.run,
    "formulae": formulae.run,
    "manuals": manuals.run,
    "language": language.run,
    "perplexity": perplexity.run,
    "pii": pii.run,
    "decontam": decontam.run,
    "toxicity": toxicity.run,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which; all if none is named: {', '.join(NAMES)}")
    parser.add_argument("--data", type=Path, required=True, help="folder of real and labelled documents")
    parser.add_argument("--workload", type=Path, help="folder of the workload of the benchmarks")
    parser.add_argument("--scratch", type=Path, help="folder for what runs write; a temporary one if not given")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    heading(f"real and labelled documents{', and the workload' if options.workload else ''}", "benchmarks.quality")
    warming.warm()
    scratch = Path(tempfile.mkdtemp(prefix="corpusmill-", dir=options.scratch))
    figures: list[Figure] = []
    try:
        for name in options.names or NAMES:
            figures += NAMES[name](options.data, options.workload, scratch / name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return verdict(figures)


if __name__ == "__main__":
    raise SystemExit(main())
