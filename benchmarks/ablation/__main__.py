"""python -m benchmarks.ablation prepare|train|show|planted|worth --out FOLDER: see benchmarks/ablation/__init__.py."""

import argparse
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("prepare", "train", "show", "planted", "worth"))
    parser.add_argument("--data", type=Path, help="folder of real and labelled documents, for prepare and worth")
    parser.add_argument("--out", type=Path, required=True, help="folder of the arms and results")
    parser.add_argument("--size", choices=("small", "large"), default="small", help="large needs an accelerator")
    parser.add_argument("--models", choices=("ngram", "gpt"), default="ngram", help="for planted: of what kind")
    parser.add_argument("--picture", type=Path, help="for show: the SVG to write")
    options = parser.parse_args()
    if options.verb == "prepare":
        from benchmarks.ablation.arms import prepare

        if options.data is None:
            parser.error("prepare needs --data DIR")
        prepare(options.data, options.out)
    elif options.verb == "worth":
        from benchmarks.ablation.worth import worth

        if options.data is None:
            parser.error("worth needs --data DIR")
        worth(options.data, options.out)
    elif options.verb == "planted":
        from benchmarks.ablation.planted import judge

        return judge(options.out, options.models)
    elif options.verb == "train":
        from benchmarks.ablation.training import train_all

        train_all(options.out, options.size)
    else:
        from benchmarks.ablation.show import show

        return show(options.out, options.size, options.picture)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
