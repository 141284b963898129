"""docs/conformance.md, which is written by the target, or compared with what it would write."""

from collections import Counter

from benchmarks.common import ROOT, Figure
from benchmarks.conformance.cases import Reason
from benchmarks.conformance.results import HIDDEN, Result
from benchmarks.conformance.unicode import Tested

PAGE = ROOT / "docs" / "conformance.md"
KINDS = {
    "theirs": "their fault",
    "definition": "definition",
    "missing": "missing",
    "ours": "our fault",
}
TOP = """# Conformance

> Do our steps give what the tests of 13 other projects expect? `make conformance DATA=DIR` puts the inputs of their
> tests through the steps that answer to them. It writes this page, and fails if a difference has no reason or is a
> fault of ours.

The cases, of projects with permissive licences, are not in the repository. Equal is a case of which everything that
its test expects, and a step of ours has, is the same: text, decision and reason, measured value. Cases without a
counterpart here do not count.

"""

WHY = "Of each reason how many cases, how to get theirs, and a case: what its test expects, and ours."


def publish(found: dict[str, list[Result]], standard: list[Tested], write: bool) -> Figure:
    """Write the page, or compare it; the figure is 1 if it is up to date."""
    content = page(found, standard)
    if write:
        PAGE.write_text(content, "utf-8")
    same = PAGE.is_file() and PAGE.read_text("utf-8") == content
    return Figure("docs/conformance.md is up to date (else: --write)", same, "", 1, digits=0)


def page(found: dict[str, list[Result]], standard: list[Tested]) -> str:
    lines = [TOP.rstrip("\n"), "", "project | cases | with a counterpart | equal | by kind", "---|---:|---:|---:|---"]
    total = [0, 0, 0]
    for name, cases in found.items():
        kinds = [(kind, *counts(cases, kind)) for kind in sorted({result.case.area for result in cases})]
        sums = [sum(column) for column in list(zip(*kinds))[1:]]
        total = [sum(pair) for pair in zip(total, sums)]
        by_kind = ", ".join(f"{kind} {equal:,} of {answered:,}" for kind, _, answered, equal in kinds)
        lines.append(f"{name} | {sums[0]:,} | {sums[1]:,} | {sums[2]:,} | {by_kind}")
    lines += [f"all | {total[0]:,} | {total[1]:,} | {total[2]:,} | as above", "", "## Unicode", ""]
    lines += ["test file of the standard | equal | of | by", "---|---:|---:|---"]
    lines += [f"{each.name} | {each.equal:,} | {each.of:,} | {each.asked}" for each in standard]
    lines += ["", "## What differs, and why", "", WHY, ""]
    for name, cases in found.items():
        differing = [result for result in cases if not result.equal and result.reason]
        if differing:
            lines += [f"### {name}", "", *(line for reason in reasons(differing) for line in reason), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def counts(cases: list[Result], kind: str) -> tuple[int, int, int]:
    """The cases of a kind, those with a counterpart, and those that are equal."""
    of_kind = [result for result in cases if result.case.area == kind]
    answered = [result for result in of_kind if result.ours]
    return len(of_kind), len(answered), sum(result.equal for result in answered)


def reasons(differing: list[Result]) -> list[list[str]]:
    """A paragraph per reason, the most frequent first, each with its first case as an example."""
    counted = Counter(result.reason for result in differing if result.reason)
    return [paragraph(reason, [r for r in differing if r.reason == reason]) for reason, _ in counted.most_common()]


def paragraph(reason: Reason, of: list[Result]) -> list[str]:
    said = [f"- **{KINDS[reason.kind]}** ({len(of)}): {reason.why}."]
    if reason.theirs:
        said.append(f"  Theirs: {reason.theirs}.")
    if of[0].case.peer not in HIDDEN:
        _, theirs, ours = of[0].differences[0]
        said.append(f"  `{of[0].case.name}`: {quoted(theirs)}, ours {quoted(ours)}.")
    return said


def quoted(value: object) -> str:
    text = repr(value).replace("`", "'").replace("|", "\\|")
    return f"`{text[:60]}…`" if len(text) > 61 else f"`{text}`"
