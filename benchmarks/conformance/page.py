"""docs/conformance.md, which is written by the target, or compared with what it would write."""

from collections import Counter

from benchmarks.common import ROOT, Figure
from benchmarks.conformance.cases import Reason
from benchmarks.conformance.results import HIDDEN, Result
from benchmarks.conformance.unicode import Tested

PAGE = ROOT / "docs" / "conformance.md"
KINDS = {
    "theirs": "a fault of theirs",
    "definition": "another definition",
    "missing": "not there yet",
    "ours": "a fault of ours",
}
TOP = """# Conformance

> Do our steps give what the tests of other projects expect? `make conformance DATA=DIR` puts the inputs of their tests
> through the steps that answer to them, and compares. This page is written by it, and it fails if the page is not up to
> date, if a difference has no reason here, and if a fault of ours is left.

The cases are those of the tests of 13 projects, as far as their licences are permissive; they do not come with the
repository. A case counts as equal if everything that its test expects, and a step of ours has, is the same: the text to
the character, the decision and its reason, the measured value. Functions without a counterpart here are not counted.

"""


def publish(found: dict[str, list[Result]], standard: list[Tested], write: bool) -> Figure:
    """Write the page, or compare it; the figure is 1 if it is up to date."""
    content = page(found, standard)
    if write:
        PAGE.write_text(content, "utf-8")
    same = PAGE.is_file() and PAGE.read_text("utf-8") == content
    return Figure("docs/conformance.md is up to date (else: --write)", same, "", 1, digits=0)


def page(found: dict[str, list[Result]], standard: list[Tested]) -> str:
    lines = [TOP.rstrip("\n"), "", "| project: kind | cases | with a counterpart | equal |", "|---|---:|---:|---:|"]
    total = [0, 0, 0]
    for name, cases in found.items():
        for kind in sorted({result.case.area for result in cases}):
            of = [result for result in cases if result.case.area == kind]
            answered = [result for result in of if result.ours]
            counts = len(of), len(answered), sum(result.equal for result in answered)
            total = [sum(pair) for pair in zip(total, counts)]
            lines.append(f"| {name}: {kind} | {counts[0]:,} | {counts[1]:,} | {counts[2]:,} |")
    lines += [f"| all | {total[0]:,} | {total[1]:,} | {total[2]:,} |", "", "## Unicode", ""]
    lines += ["| test file of the standard | equal | of | by |", "|---|---:|---:|---|"]
    lines += [f"| {each.name} | {each.equal:,} | {each.of:,} | {each.asked} |" for each in standard]
    lines += ["", "## What differs, and why", ""]
    for name, cases in found.items():
        differing = [result for result in cases if not result.equal and result.reason]
        if differing:
            lines += [f"### {name}", "", *(line for reason in reasons(differing) for line in reason), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def reasons(differing: list[Result]) -> list[list[str]]:
    """A paragraph per reason, the most frequent first, each with its first case as an example."""
    counted = Counter(result.reason for result in differing if result.reason)
    return [paragraph(reason, [r for r in differing if r.reason == reason]) for reason, _ in counted.most_common()]


def paragraph(reason: Reason, of: list[Result]) -> list[str]:
    said = [f"- **{KINDS[reason.kind]}** ({len(of)}): {reason.why}."]
    if reason.theirs:
        said.append(f"  How to get theirs: {reason.theirs}.")
    if of[0].case.peer not in HIDDEN:
        name, theirs, ours = of[0].differences[0]
        said.append(f"  For example `{of[0].case.name}`, {name}: {quoted(theirs)}, ours {quoted(ours)}.")
    return said


def quoted(value: object) -> str:
    text = repr(value).replace("`", "'").replace("|", "\\|")
    return f"`{text[:60]}…`" if len(text) > 61 else f"`{text}`"
