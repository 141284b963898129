"""Red flags of a finished run: what is suspicious in its output, or in what its steps did, and what to change.

model     a check and its verdict; the audit of a run
bounds    what is expected of each check, and how a user says otherwise
facts     what the checks look at, each read once: what the run recorded, and a sample of its output
sample    what no run records, measured on that sample: markup, personal data, duplicates, templates
checks    the checks, a function each, and the list of them
prompt    the same as a prompt, with documents, for a reviewer
"""

from collections.abc import Sequence
from os import PathLike

from corpusmill.report.audit.bounds import parse
from corpusmill.report.audit.checks import AUDIT_CHECKS, judge
from corpusmill.report.audit.facts import AUDIT_SAMPLE, RunFacts
from corpusmill.report.audit.model import Audit, Check
from corpusmill.report.tables import RunTables
from corpusmill.store.run_folder import RunFolder

__all__ = ["Audit", "Check", "audit"]


def audit(run: str | PathLike[str] | RunFolder, *, bounds: Sequence[str] = (), sample: int = AUDIT_SAMPLE) -> Audit:
    """Check a finished run for red flags. Nothing in it changes.

    run      its folder, or the Run that `corpusmill.run` has returned
    bounds   instead of the usual ones: "chars_per_token=2..6", "pii_left=..0.05", "domain_share=.." for none
    sample   documents of the output that are read for what the run has not recorded; the same ones each time

    Raises InputError if there is no run, or a bound is none; ResumeError if the run is not finished.
    """
    chosen = parse(bounds, {name: check.bounds for name, check in AUDIT_CHECKS.items()})
    tables = RunTables(run)
    tables.files.must_be_finished()
    facts = RunFacts(tables, sample, frozenset(chosen))
    checks = tuple(judge(name, facts, chosen.get(name)) for name in AUDIT_CHECKS)
    return Audit(tables.folder, facts.flow.documents_out, len(facts.sample.ids), checks)
