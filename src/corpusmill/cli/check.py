"""corpusmill check RECIPE"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpusmill.cli.common import Json, RecipeFile, Settings, print_json
from corpusmill.cli.run import Limit, ProgressStyle, RunPlace, Sample, Workers, limits
from corpusmill.report.numbers import number, plural, size

if TYPE_CHECKING:
    from corpusmill.engine.plan.changes import Preview


def add_to(app: typer.Typer) -> None:
    app.command("check", epilog="Example: corpusmill check web.yaml --workers 2")(check)


def check(
    recipe: RecipeFile,
    settings: Settings = None,
    folder: RunPlace = None,
    workers: Workers = None,
    limit: Limit = None,
    sample: Sample = None,
    restart: Annotated[bool, typer.Option("--restart", hidden=True)] = False,
    retry_aside: Annotated[bool, typer.Option("--retry-aside", hidden=True)] = False,
    progress: Annotated[ProgressStyle, typer.Option(hidden=True)] = ProgressStyle.AUTO,
    json: Json = False,
) -> None:
    """Check whether a recipe can run; list its inputs, units and stages. Reads a sample of the input.

    Takes all options of `run`, so that you can check a command before you run it.
    """
    from corpusmill.ops import checks
    from corpusmill.recipe.extends import base_of
    from corpusmill.recipe.stages import outline

    settings = [*(settings or ()), *limits(limit, sample)]
    checked = checks.check(recipe, overrides=settings, folder=folder, workers=workers)
    ahead, folder = checked.ahead, checked.folder
    if restart:
        ahead = replace(ahead, done=0, finished=False, changes=())
    if json:
        sources = {
            name: {"files": files, "bytes": total, "text_bytes": checked.text[name]}
            | ({"read_as": checked.read_as[name]} if name in checked.read_as else {})
            | ({"passed_over": checked.passed_over[name]} if name in checked.passed_over else {})
            for name, (files, total) in checked.sources.items()
        }
        record = {"name": checked.recipe.name, "folder": folder, "sources": sources, "stages": list(checked.stages)}
        notes: dict[str, Any] = {"remarks": [{"step": label, "remark": remark} for label, remark in checked.remarks]}
        record |= {"only": checked.only} if checked.only else {}
        training: dict[str, Any] = {"training": [stage._asdict() for stage in outline(checked.recipe)]}
        units = {"units": ahead.units, "done": ahead.done, "workers": checked.workers, "finished": ahead.finished}
        notes |= {"warnings": checked.warnings, "changes": [asdict(change) for change in ahead.changes]}
        notes |= {"tried": checked.tried, "drops_all": [asdict(entry) for entry in checked.drops_all]}
        needs = {name: {"from": low, "to": high} for name, (low, high) in asdict(checked.needs).items()}
        record |= training if checked.recipe.stages else {}
        notes |= {"questions": [asdict(most) for most in checked.questions]} if checked.questions else {}
        print_json(record | units | {"unit_text_bytes": ahead.text, "needs": needs} | notes)
        return
    print(f"{recipe}: can run")
    if base := base_of(checked.recipe.written.text, str(recipe)) if checked.recipe.written else None:
        print(f"  extends {base} (`corpusmill recipe {quote(str(recipe))}` prints all of it)")
    for name, (files, total) in checked.sources.items():
        read_as = f", {checked.read_as[name]}" if name in checked.read_as else ""
        amount = f"{number(files)} file{'s' * (files != 1)} of {size(total)}"
        print(f"  read {name}: {amount}, about {size(checked.text[name])} of text{read_as}")
        if name in checked.passed_over:
            print(f"    {checked.passed_over[name]}")
    only = {label: f"{label} [{notes}]" for label, notes in checked.only.items()}
    for stage, labels in checked.passes.items():
        print(f"  {stage}: {' → '.join(only.get(label, label) for label in labels) or 'read only, no steps'}")
    print(f"  stages: {' → '.join(checked.stages)}")
    busy = f"{number(min(checked.workers, ahead.units))} of {number(checked.workers)} workers"
    unit_text = min(ahead.text, sum(checked.text.values()))
    print(f"  units: {number(ahead.units)} of about {size(unit_text)} of text, for {busy}")
    memory, disk = (f"{size(low)} to {size(high)}" for low, high in (checked.needs.memory, checked.needs.disk))
    print(f"  needs: roughly {memory} of memory over all processes, {disk} of disk")
    print(f"         (`corpusmill plan {quote(str(recipe))}` measures both on a sample)")
    for most in checked.questions:
        price = "" if most.usd is None else f", {most.usd:,.2f} USD without the answers"
        amount = f"{plural(most.questions, 'question')}, {number(most.prompt_tokens)} tokens of prompts"
        print(f"  {most.label}: asks {most.model} at most about {amount}{price}")
    if split := checked.recipe.split:
        print(f"  split: about {100 * split.validation:.4g} % of the {split.by}s for validation")
    for training_stage in outline(checked.recipe):
        print(f"  training {training_stage}")
    print(f"  folder: {folder}")
    for label, remark in checked.remarks:
        print(f"  {label}: {remark}")
    for line in _to_do(ahead, checked.stages[0]):
        print(f"  {line}")
    if not checked.tried and checked.recipe.steps:
        print("  steps: not tried on documents, as their code is not compiled yet (`corpusmill warm` does that)")
    for warning in checked.warnings:
        print(f"warning: {warning}")


def _to_do(ahead: "Preview", first: str) -> Iterator[str]:
    """What a run would do of what there is to do. `first` is the first stage."""
    from corpusmill.engine.plan.changes import in_words

    if ahead.finished:
        yield "to do: nothing, the run is finished"
    elif ahead.done:
        remaining = ahead.units - ahead.done
        yield f"to do: {number(remaining)} of {number(ahead.units)} units of {first}, and what depends on them"
    yield from in_words(ahead.changes)
