"""Does the mixer of the Dolma toolkit take what `write: dolma` writes, and replace spans as `clean/spans` does?

    make layouts

Documents are made at random, with letters of one to four bytes and spans that touch and overlap. The same signals,
bounds and replacements go through `dolma mix`, of the package itself, and through a recipe.
"""

import argparse
import gzip
import json
import subprocess
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.common import heading
from corpusmill import Recipe, run

# The extension alone: the package around it needs much that the mixer does not.
MIX = """
import glob, importlib.util, os, sys
[at] = importlib.util.find_spec("dolma").submodule_search_locations
[library] = glob.glob(os.path.join(at, "dolma.*.so"))
spec = importlib.util.spec_from_file_location("dolma.dolma", library)
dolma = importlib.util.module_from_spec(spec)
spec.loader.exec_module(dolma)
dolma.mixer_entrypoint(sys.stdin.read())
"""
RECIPE = """
name: layouts
read: {{dolma: {{paths: {folder}, source: made}}}}
steps:
{steps}
write: {{dolma: {{keep: [one, two], signals: ["metadata.*"]}}}}
run: {{folder: {run}, executor: serial}}
"""
MEASURE = "  - annotate/metadata: {numbers: {score: attributes.two.two__b.0.2}}"
REPLACE = "  - clean/spans: {replace: {attributes.one.one__a: '<{}>', attributes.two.two__b: ''}, min_score: 0.5}"
FILTER = '  - filter/keep_where: {condition: "metadata.score is null or metadata.score >= 0.25"}'
DOCUMENTS = 4000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", type=Path, help="of an environment with dolma")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder / "made", Random(7))
        ours = output(folder, "ours", [MEASURE, FILTER, REPLACE])
        written = output(folder, "written", [MEASURE])
        theirs = mixed(options.python, written, folder / "mixed")
        kept = {row["id"]: row["text"] for row in lines(ours / "documents")}
        heading("Dolma's mixer on what we write", "benchmarks.peers.layouts")
        same = sum(kept.get(row["id"]) == row["text"] for row in theirs)
        print(f"{len(theirs)} of {DOCUMENTS} documents kept by dolma mix, {len(kept)} by the recipe, {same} equal")
        return int(same != len(theirs) or same != len(kept))


def make(folder: Path, random: Random) -> None:
    put = {name: [] for name in ("documents", "attributes/one", "attributes/two")}  # type: dict[str, list[Any]]
    for number in range(DOCUMENTS):
        text = "".join(random.choices("abcdefgh é漢\U0001f600\n", k=random.randint(5, 60)))
        document = {"id": f"d{number}", "text": text, "source": "made"}
        put["documents"].append(document)
        for tagger, name in (("one", "one__a"), ("two", "two__b")):
            spans = []
            for _ in range(random.randint(0, 4)):
                start, end = sorted(random.sample(range(len(text) + 1), 2))
                spans.append([start, end, random.choice((0.125, 0.25, 0.5, 1.0))])
            put[f"attributes/{tagger}"].append({"id": f"d{number}", "attributes": {name: spans}})
    for name, rows in put.items():
        (folder / name).mkdir(parents=True)
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        (folder / name / "0.json.gz").write_bytes(gzip.compress(data, mtime=0))


def output(folder: Path, name: str, steps: list[str]) -> Path:
    run(Recipe.parse(RECIPE.format(folder=folder / "made", run=folder / name, steps="\n".join(steps))))
    return folder / name / "output" / "dolma"


def mixed(python: Path, written: Path, out: Path) -> list[dict[str, Any]]:
    """What the mixer makes of a folder."""
    out.mkdir()
    stream = {
        "name": "made",
        "documents": [f"{written}/documents/*.json.gz"],
        "attributes": ["one", "two", "corpusmill"],
        "output": {"path": str(out), "max_size_in_bytes": 1 << 30},
        "filter": {"include": [], "exclude": ["$.attributes[?(@.corpusmill__metadata__score[0][2] < 0.25)]"]},
        "span_replacement": [
            {"span": "$.attributes.one__a", "min_score": 0.5, "replacement": "<{}>"},
            {"span": "$.attributes.two__b", "min_score": 0.5, "replacement": ""},
        ],
    }
    work = {"input": str(out / "in"), "output": str(out / "out")}
    config = json.dumps({"streams": [stream], "work_dir": work, "processes": 1})
    subprocess.run([python, "-c", MIX], input=config, text=True, check=True, capture_output=True)
    return lines(out)


def lines(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.glob("*.json.gz"))
    return [json.loads(line) for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]


if __name__ == "__main__":
    raise SystemExit(main())
