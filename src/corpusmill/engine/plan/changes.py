"""What of an earlier run is done again, and why: "resiliparse 2.0.1 is now 2.1.0"."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corpusmill.engine.plan.inputs import unit_bytes
from corpusmill.engine.plan.plan import RunPlan, unit_list
from corpusmill.store.run_folder import STAGES_RECORD, RunFolder
from corpusmill.store.run_records import DamagedRecord
from corpusmill.store.stage_folder import stage_folder
from corpusmill.store.unit_io import Upstream

SHOWN = 3  # of the reasons of a stage
CODE = "the code that they are done by changed"


@dataclass(frozen=True)
class StageChange:
    """A stage that was done before and is done again, because its work is not the same. `reasons` say what differs."""

    stage: str
    reasons: tuple[str, ...]

    @property
    def code_only(self) -> bool:
        return all(reason.startswith("the code of ") for reason in self.reasons)

    def __str__(self) -> str:
        shown = "; ".join(self.reasons[:SHOWN])
        others = f"; and {len(self.reasons) - SHOWN} more" if len(self.reasons) > SHOWN else ""
        return f"{self.stage} is made again: {shown}{others}"


def in_words(made_again: Sequence[StageChange]) -> list[str]:
    """A line for each reason, with the stages that it concerns.

    >>> in_words([Change("tokens", ("numpy 2.0 is now 2.1",)), Change("shards", ("numpy 2.0 is now 2.1",))])
    ['tokens, shards are made again: numpy 2.0 is now 2.1']
    """
    stages: dict[str, list[str]] = {}
    for change in made_again:
        reason = str(change).partition(": ")[2]
        # Modules differ by stage where the package was upgraded: which ones is of no use to a reader of many lines.
        stages.setdefault(CODE if change.code_only and len(made_again) > SHOWN else reason, []).append(change.stage)
    return [
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} made again: {reason}"
        for reason, names in stages.items()
    ]


@dataclass(frozen=True)
class Preview:
    """What a run would do.

    units     of the first stage: how many there are, and
    done      how many of them are done already, in this folder
    text      bytes of text in a unit, about
    finished  whether the whole run is there already
    changes   stages that were done with other work, and why that is another one
    """

    units: int
    done: int
    text: int
    finished: bool
    changes: tuple[StageChange, ...]


def preview(run: RunFolder, plan: RunPlan) -> Preview:
    """What a run in this folder would do. How much of the later stages is left depends on what the first one makes."""
    first = plan.stages[0]
    units = unit_list(first, Upstream(run))
    folder = run.stage(stage_folder(first.name, plan.identity(first.name).fingerprint))
    committed = len(folder.collect([unit.key for unit in units], _as_not_done)) if run.exists() else 0
    changed = tuple(changes(run, plan))
    finished = committed == len(units) and not changed and _finished(run, plan)
    return Preview(len(units), committed, unit_bytes(plan.inputs, plan.recipe.run.unit_mb), finished, changed)


def is_finished(run: RunFolder, plan: RunPlan) -> bool:
    """Whether all that the plan says was done in this folder, as its records have it: then no worker is needed, unless
    a file turns out to be damaged."""
    if not run.exists():
        return False
    try:
        recorded = [entry["folder"] for entry in run.read(STAGES_RECORD)]
        folders = [stage_folder(stage.name, plan.identity(stage.name).fingerprint) for stage in plan.stages]
        if recorded != folders or not _finished(run, plan):
            return False
        first = plan.stages[0]
        keys = run.results()[first.name].keys
    except DamagedRecord:
        return False
    return tuple(unit.key for unit in unit_list(first, Upstream(run))) == keys


def _as_not_done(damaged: DamagedRecord) -> None:
    """A run does the unit of a damaged commit again."""


def _finished(run: RunFolder, plan: RunPlan) -> bool:
    try:
        results = run.results()
    except DamagedRecord:
        return False
    return all(stage.name in results and results[stage.name].complete for stage in plan.stages)


def changes(run: RunFolder, plan: RunPlan) -> list[StageChange]:
    """The stages of a plan that the last run in this folder did with other work. Empty where there is no run, or its
    list of stages is damaged."""
    if not run.exists():
        return []
    try:
        earlier = {entry["stage"]: entry["folder"] for entry in run.read(STAGES_RECORD)}
    except DamagedRecord:
        return []
    changed = []
    for stage in plan.stages:
        identity = plan.identity(stage.name)
        folder = stage_folder(stage.name, identity.fingerprint)
        before = earlier.get(stage.name)
        if before is None or before == folder:
            continue
        described = _described(run, before)
        if described is None:  # it was not begun, or does not say what it is
            continue
        if _described(run, folder) is not None:
            continue  # the recipe was changed back: the work is there
        changed.append(StageChange(stage.name, tuple(differences(described, identity.to_json()))))
    return changed


def _described(run: RunFolder, folder: str) -> dict[str, Any] | None:
    try:
        return run.stage(folder).description()
    except DamagedRecord:
        return None


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """In words, what differs between two identities: parameters first, then libraries, then code."""
    reasons = list(_of_work(*(_flat(identity["work"]) for identity in (before, now))))
    libraries = before["libraries"], now["libraries"]
    for name in sorted(set(libraries[0]) | set(libraries[1])):
        old, new = (versions.get(name) for versions in libraries)
        if old != new and old and new:
            reasons.append(f"{name} {old} is now {new}")
        elif old != new and not reasons:
            reasons.append(f"{name} {old or new} is {'no longer' if old else 'now'} used")
    code = before["code"], now["code"]
    changed = [name for name in sorted(set(code[0]) & set(code[1])) if code[0][name] != code[1][name]]
    if changed:
        reasons.append(
            "the code of " + ", ".join(changed[:SHOWN]) + (" and others" if changed[SHOWN:] else "") + " changed"
        )
    return reasons or ["what it is made of changed"]


def _flat(work: Any) -> Any:
    """The work of a pass as one mapping: its parts are not what a recipe names."""
    if not isinstance(work, dict) or "sinks" not in work:
        return work
    parts = [work["source"], work["chain"], work["tokens"], *work["sinks"]]
    return {
        **{name: value for part in parts for name, value in part.items() if name not in ("class", "request")},
        "requests": [sink["request"] for sink in work["sinks"] if "request" in sink],
        "made of": [str(part["class"]).rpartition(":")[2] for part in parts if "request" not in part],
    }


def _of_work(before: Any, now: Any, where: str = "") -> Iterator[str]:
    if before == now:
        return
    if isinstance(before, dict) and isinstance(now, dict):
        for name in [*before, *(name for name in now if name not in before)]:
            # The sources of a pass's steps are together under "only": they are named as one would set them.
            inside = f"{name}.only" if where == "only" else f"{where}.{name}" if where else name
            yield from _of_work(before.get(name), now.get(name), inside)
    elif isinstance(before, list) and isinstance(now, list) and all(map(_labelled, [*before, *now])):
        old, new = ({item[0]: item[1] for item in items} for items in (before, now))
        for label in [*old, *(label for label in new if label not in old)]:
            if label not in new:
                yield f"{label} was removed"
            elif label not in old:
                yield f"{label} is new"
            else:
                yield from _of_work(old[label], new[label], label)
        if list(old) != list(new) and set(old) == set(new):
            yield "the steps are in another order"
    else:
        yield f"{where} was {_shown(before)}, is {_shown(now)}"


def _labelled(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]} …"
