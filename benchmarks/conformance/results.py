"""The cases of a peer, put through our steps."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from benchmarks.conformance import compare, whole_runs
from benchmarks.conformance.ask import ask
from benchmarks.conformance.cases import Case, Counterpart, Reason, read_cases

NAMES = (
    *("cc_net", "curator", "data_juicer", "datamap", "datatrove", "dclm", "decon", "dolma", "gitleaks", "olmo_core"),
    *("presidio", "textdedup", "tfds_c4"),
)
SHOWN = 160  # characters of a value in a message
HIDDEN = ("gitleaks", "presidio")  # whose texts look like keys and people


@dataclass(frozen=True)
class Result:
    """A case, what answers it, where the answer differs, and why."""

    case: Case
    ours: Counterpart | None
    differences: tuple[compare.Difference, ...]
    reason: Reason | None

    @property
    def equal(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        if self.case.peer in HIDDEN:
            return f"{self.case.peer} {self.case.name}"
        what = "; ".join(f"{name} {theirs!r:.{SHOWN}}, ours {own!r:.{SHOWN}}" for name, theirs, own in self.differences)
        return f"{self.case.peer} {self.case.name} ({self.case.function}): {what}"


def results(peer: str, folder: Path, scratch: Path) -> list[Result]:
    module = import_module(f"benchmarks.conformance.peers.{peer}")
    scratch.mkdir(parents=True)
    found = []
    for number, case in enumerate(read_cases(folder, peer)):
        ours = module.counterpart(case)
        differs: list[compare.Difference] = []
        if ours is not None and ours.step.startswith(whole_runs.FOLDERS):
            differs = whole_runs.differences(case, ours, scratch / str(number))
        elif ours is not None:
            differs = compare.differences(case, ours, ask(case, ours, scratch))
        reason = next((reason for reason in module.REASONS if differs and reason.fits(case)), None)
        found.append(Result(case, ours, tuple(differs), reason))
    return found
