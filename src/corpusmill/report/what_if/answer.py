"""The question of other thresholds, checked, and its answer."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from corpusmill.errors import InputError
from corpusmill.recipe.load import SELECTION_KEYS
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels
from corpusmill.recipe.part_nodes import RECIPE_KEYS, SECTIONS
from corpusmill.report.rules import bounds
from corpusmill.report.run_files import RunFiles
from corpusmill.report.tables import RunTables
from corpusmill.report.waterfall import WaterfallRow
from corpusmill.report.what_if.border import Border, Nearest
from corpusmill.report.what_if.count import Count, Kept, TextAmount
from corpusmill.report.what_if.rejudge import Judge, RejudgedVerdicts
from corpusmill.report.what_if.saved import Sizes, saved_units
from corpusmill.steps import CorpusStep, Pack, Tokenize, Transform
from corpusmill.steps.verdict import thresholds


@dataclass(frozen=True)
class ParameterChange:
    """A parameter of a step, by the step's label."""

    step: str
    parameter: str
    before: Any
    after: Any


@dataclass(frozen=True)
class WhatIf:
    """A pass of a run, as it was and as it would be. Documents and bytes are exact: those of a run with the changes. So
    are tokens, but for texts that would be counted at another step and are changed in between: those are in proportion
    to their bytes.

    changes         what differs from the recipe of the run
    stage           the pass that the changed steps belong to; of several, the first
    before, after   the steps of the pass, as in the waterfall
    kept            what the pass keeps
    sources         the same by source, and
    languages       by language, as identified by the first step that does so; empty if none does
    newly_kept      reason that dropped them in the run -> documents that would be kept
    newly_dropped   reason that would drop them -> documents that the run kept
    border          of both, by reason, the documents nearest to the threshold
    open_steps      steps after the pass whose results depend on which documents reach them: only a run can show them
    command         makes that run, in a folder of its own; the recipe is named RECIPE where the run does not know it
    """

    changes: tuple[ParameterChange, ...]
    stage: str
    before: tuple[WaterfallRow, ...]
    after: tuple[WaterfallRow, ...]
    kept: Kept
    sources: Mapping[str, Kept]
    languages: Mapping[str, Kept]
    newly_kept: Mapping[str, TextAmount]
    newly_dropped: Mapping[str, TextAmount]
    border: tuple[Border, ...]
    open_steps: tuple[str, ...]
    command: str


def what_if(folder: str | PathLike[str], changes: Sequence[str], examples: int = 3) -> WhatIf:
    """What a finished run would have kept with other thresholds.

    changes    "gopher_quality.min_words=30", as for --set of `corpusmill run`, with or without "steps." before it
    examples   documents at the border, for each reason

    Raises ResumeError if the run is not finished, RecipeError if a change names no parameter or no value of it,
    InputError if it is about more than a threshold, or about what a run without `run.measure_dropped: all` has not
    measured: that needs a run.
    """
    tables = RunTables(Path(folder))
    files = tables.files
    files.must_be_finished()
    settings = [setting if setting.partition(".")[0] in SECTIONS else _of_a_step(setting) for setting in changes]
    recipe = files.recipe_with(settings)
    changed = differences(files.recipe, recipe)
    for change, step in changed:
        _check_judges(change, step, settings)
    touched = {change.step for change, _ in changed}
    number = next((n for n, (_, own) in enumerate(files.passes) if touched & set(own)), 0)
    stage, own = files.passes[number]
    measured = files.measure_dropped(number)
    if measured == "none" and touched:
        raise InputError(
            f"{files.folder.place}: this run saved no signals of dropped documents, so what other thresholds would do "
            f"with them is unknown: run again with --set run.measure_dropped=all, or, to see what stricter thresholds "
            f"would drop, with --set run.measure_dropped=first."
        )
    old, new = (dict(zip(labels(r.steps), r.steps)) for r in (files.recipe, recipe))
    verdicts = RejudgedVerdicts(
        own,
        [
            Judge(label, at, old[label], new[label], files.only.get(label), None if measured == "all" else own[at:])
            for at, label in enumerate(own)
            if label in touched
        ],
        all_measured=measured == "all",
    )
    nearest = Nearest((bounds(recipe), tables.bounds), examples)
    sizes = Sizes.from_steps(own, old)
    flow = files.waterfall()
    rows = [row for row in flow.rows if row.step in own]
    pages = {
        (version, name)
        for version, row in zip(sizes.version, rows)
        for name, source in row.sources.items()
        if flow.counts_tokens and version < len(sizes.columns) - 1 and source["bytes_in"] and not source["tokens_in"]
    }
    count = Count(own, _language(files, number), files.only, pages, flow.counts_tokens)
    paths = files.paths("signals", number)
    for unit, saved in enumerate(saved_units(paths, sizes)):
        before, after = verdicts.compare(saved)
        count.add(saved, before, after, verdicts.reasons)
        if examples:
            nearest.add(unit, saved, before, after, verdicts.reasons)
    failed = files.facts(stage).get("failed", {})
    later = [label for _, later_labels in files.passes[number + 1 :] for label in later_labels]
    return WhatIf(
        changes=tuple(change for change, _ in changed),
        stage=stage,
        before=count.rows(0, sizes, failed),
        after=count.rows(1, sizes, failed),
        kept=count.all_kept(),
        sources=count.kept_by_source(),
        languages=count.kept_by_language(),
        newly_kept=_ordered(count.newly[0]),
        newly_dropped=_ordered(count.newly[1]),
        border=tuple(nearest.documents(paths, sizes)),
        open_steps=tuple(later) if count.newly[0] or count.newly[1] or touched & set(later) else (),
        command=_command(files, settings),
    )


def differences(before: Recipe, after: Recipe) -> list[tuple[ParameterChange, Any]]:
    """The parameters in which two recipes of the same steps differ, each with its step as it was; `only` and `except`
    among them."""
    selected = [
        (ParameterChange(label, setting, was.get(setting), now.get(setting)), step)
        for label, step, *chosen in zip(labels(before.steps), before.steps, before.selections, after.selections)
        for was, now in [[selection.to_plain() if selection else {} for selection in chosen]]
        for setting in SELECTION_KEYS
        if was.get(setting) != now.get(setting)
    ]
    return selected + [
        (ParameterChange(label, name, getattr(old, name), getattr(new, name)), old)
        for label, old, new in zip(labels(before.steps), before.steps, after.steps)
        for name in old.__dataclass_fields__
        if getattr(old, name) != getattr(new, name)
    ]


def _of_a_step(setting: str) -> str:
    if setting.partition("=")[0].partition(".")[0] in RECIPE_KEYS:
        raise InputError(
            f"what-if tries other thresholds of steps, as in gopher_quality.min_words=30; for {setting}, run again "
            f"with --set {setting}"
        )
    return f"steps.{setting}" if "." in setting.partition("=")[0] else setting


def _check_judges(change: ParameterChange, step: Any, settings: Sequence[str]) -> None:
    """Raises InputError if the change is about more than which of the measured documents are dropped."""
    if change.parameter in thresholds(step):
        return
    if change.parameter in SELECTION_KEYS:
        explanation = "changes which documents are measured"
    elif isinstance(step, CorpusStep):
        explanation = "changes which documents are compared, or how"
    elif isinstance(step, Tokenize | Pack):
        explanation = "changes the tokens"
    elif isinstance(step, Transform):
        explanation = "changes the text"
    else:
        explanation = "changes what is measured"
    judged_parameters = thresholds(step)
    listed = ", ".join(judged_parameters)
    others = f" Thresholds of {change.step} that can be tried without a run: {listed}." if listed else ""
    name = f"steps.{change.step}.{change.parameter}"
    rerun_setting = next((setting for setting in settings if setting.startswith(name)), f"{name}=…")
    raise InputError(
        f"{change.step}.{change.parameter} {explanation}, so saved signals cannot answer it: run again with "
        f"--set {rerun_setting}.{others}"
    )


def _language(files: RunFiles, number: int) -> str | None:
    """The column of languages that the first step of a pass has written which identifies them."""
    columns = files.columns(number)
    label_columns = (f"{label}.label" for label in files.passes[number][1] if f"{label}.score" in columns)
    return next((column for column in label_columns if column in columns), None)


def _ordered(amounts: Mapping[str, TextAmount]) -> dict[str, TextAmount]:
    return dict(sorted(amounts.items(), key=lambda item: (-item[1].documents, item[0])))


def _command(files: RunFiles, settings: Sequence[str]) -> str:
    """The command of the run, with the changes, in a new folder: the old one is kept, to compare with."""
    words = list(files.command[1:])
    arguments = ["corpusmill", "run", "RECIPE"]
    if words[:1] == ["run"]:
        arguments = ["corpusmill"]
        while words:
            argument = words.pop(0)
            if argument == "--folder":
                words = words[1:]
            elif not argument.startswith("--folder=") and argument not in ("--json", "--restart"):
                arguments.append(argument)
    for setting in settings:
        arguments += ["--set", setting]
    return shlex.join([*arguments, "--folder", f"{files.folder.place}-what-if"])
