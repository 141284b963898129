"""Precision and recall of a recipe by eye: 200 pages that it kept or dropped, judged by who does not know which.

    python -m benchmarks.quality.eyes --data DATA [--recipe web-en]
    python -m benchmarks.quality.eyes --judged benchmarks/quality/eyes_web-en.jsonl

The first call runs the recipe on DATA, WARC files or what else it reads, and draws 100 documents that its first pass
kept and 100 that it dropped, the first by their ids, which are hashes. Duplicates, which a later pass drops, count as
kept: each is as good as what is kept instead. Judge them in the inspector (Blind review), or from the files in
OUT/pages, by a line a page in OUT/verdicts.jsonl, and call again.

    {"page": 17, "mark": "keep"}

A mark is keep (a text that you would train on), drop, or unsure. Once all are judged, precision and recall are
printed with intervals at 95 % (src/corpusmill/inspect/accuracy.py), and what was judged, with the rules that dropped
it, is written to OUT/judged.jsonl: no texts, so it can be published. A file shows the begin and the end of a text. What
it cannot hide is that kept texts have passed all steps: placeholders of personal data are only in these.
"""

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import corpusmill
from benchmarks.common import ROOT, row, table
from corpusmill.inspect.accuracy import Accuracy, Side
from corpusmill.inspect.blind import Review
from corpusmill.inspect.listing import Listing
from corpusmill.recipe.shipped import RECIPES_FOLDER
from corpusmill.report.tables import RunTables

DRAWN = 200  # documents
STAGE = "pass-1"
BEGIN, END = 1500, 500  # characters that a file shows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="what the recipe reads: a file, a folder or a pattern")
    parser.add_argument("--recipe", default="web-en", help="a recipe that comes with corpusmill, or a file")
    parser.add_argument("--out", type=Path, help="folder for the run and the pages; build/eyes/RECIPE if not given")
    parser.add_argument("--judged", type=Path, help="print the figures of this file, and run nothing")
    options = parser.parse_args()
    if options.judged:
        head, *judged = read_lines(options.judged)
        show(head, judged)
        return 0
    out = options.out or ROOT / "build" / "eyes" / Path(options.recipe).stem
    folder, drawn_file, verdicts = out / "run", out / "drawn.jsonl", out / "verdicts.jsonl"
    if not drawn_file.exists():
        if not options.data:
            parser.error("--data is needed: what the recipe reads")
        os.environ["INPUT"] = str(Path(options.data).absolute())
        shipped = RECIPES_FOLDER / f"{options.recipe}.yaml"
        corpusmill.run(
            shipped if shipped.exists() else options.recipe, overrides=["run.dropped_text=all"], folder=folder
        )
    review = Review(Listing(RunTables(folder)))
    if not drawn_file.exists():
        write_pages(review, out)
    drawn = read_lines(drawn_file)
    take_verdicts(review, drawn, verdicts)
    marks = {mark["id"]: mark for mark in review.marks() if mark["stage"] == STAGE}
    if left := [page["page"] for page in drawn if page["id"] not in marks]:
        print(f"{len(left)} of {len(drawn)} pages have no mark yet; the next is {out / 'pages' / name_of(left[0])}.")
        print(f'Judge them by lines {{"page": {left[0]}, "mark": "keep"}} (or drop, or unsure) in {verdicts}, or by')
        print(f"corpusmill inspect {folder}. Then say the same command again.")
        return 0
    sizes = {accuracy.stage: (accuracy.kept.documents, accuracy.dropped.documents) for accuracy in review.accuracy()}
    head = {"recipe": options.recipe, "stage": STAGE} | dict(zip(("kept", "dropped"), sizes[STAGE]))
    judged = [{name: marks[page["id"]][name] for name in ("id", "mark", "kept", "reasons")} for page in drawn]
    path = out / "judged.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [head, *judged]), "utf-8")
    show(head, judged)
    print(f"\nWhat was judged: {path}")
    return 0


def write_pages(review: Review, out: Path) -> None:
    """A file a page, and last `drawn.jsonl` with their ids; neither says what the run decided."""
    (out / "pages").mkdir(exist_ok=True)
    drawn = []
    for number, document in enumerate(review.round(STAGE, DRAWN), 1):
        address = {name: document[name] for name in ("id", "file", "position")}
        text = review.text(STAGE, *address.values())
        (out / "pages" / name_of(number)).write_text(f"{document['url']}\n\n{shortened(text)}\n", "utf-8")
        drawn.append({"page": number, **address})
    (out / "drawn.jsonl").write_text("".join(json.dumps(page) + "\n" for page in drawn), "utf-8")


def name_of(page: int) -> str:
    return f"{page:03d}.txt"


def shortened(text: str) -> str:
    """Begin and end of a text, and what is left out between them."""
    left = len(text) - BEGIN - END
    return text if left <= 0 else f"{text[:BEGIN]}\n[… {left:,} characters …]\n{text[-END:]}"


def take_verdicts(review: Review, drawn: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Save the marks of a file where the inspector saves its own, if they are not the same already."""
    pages = {page["page"]: page for page in drawn}
    marks = {mark["id"]: mark["mark"] for mark in review.marks() if mark["stage"] == STAGE}
    for number, verdict in enumerate(read_lines(path) if path.exists() else (), 1):
        page = pages.get(verdict.get("page"))
        if page is None or "mark" not in verdict:
            raise SystemExit(f'{path}:{number}: need "page", from 1 to {len(pages)}, and "mark"; got {verdict}')
        if marks.get(page["id"]) != verdict["mark"]:
            review.mark(STAGE, page["id"], page["file"], page["position"], verdict["mark"])


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def show(head: Mapping[str, Any], judged: Iterable[Mapping[str, Any]]) -> None:
    """Precision and recall, and of the good ones that were dropped by which rule."""
    marked = [line for line in judged if line["mark"] != "unsure"]
    sides = []
    for name, is_kept in (("kept", True), ("dropped", False)):
        good = [line["mark"] == "keep" for line in marked if line["kept"] == is_kept]
        sides.append(Side(head[name], len(good), sum(good)))
    accuracy = Accuracy(head["stage"], *sides)
    print(f"## by eye: {head['recipe']}\n")
    table("", "documents", "judged", "good")
    for name, side in zip(("kept", "dropped"), sides):
        row(name, f"{side.documents:,}", side.marked, side.good)
    for name, measured in (("precision", accuracy.precision), ("recall", accuracy.recall)):
        if measured:
            value, (low, high) = measured
            print(f"\n{name}: {value:.3f}, {low:.3f} to {high:.3f}", end="")
    lost = Counter(line["reasons"][0] for line in marked if not line["kept"] and line["mark"] == "keep")
    print(f"\n\ngood but dropped by: {', '.join(f'{rule} {n}' for rule, n in lost.most_common()) or 'none'}")


if __name__ == "__main__":
    raise SystemExit(main())
