"""What earlier runs kept, for steps with `against`: the keys of their documents, as those runs or an index left
them."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpusmill import storage
from corpusmill.engine.plan.identity import keys_description
from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels, name_of
from corpusmill.steps import ComparesWithEarlierRuns, CorpusStep
from corpusmill.steps.keys import FORMAT, EarlierKeys, KeyFile
from corpusmill.store.run_folder import RunFolder

INDEX = "index.json"
Kept = tuple[KeyFile, str]  # a file, and a fingerprint of what it and its documents hold


def earlier_keys(step: CorpusStep, label: str) -> EarlierKeys:
    """The key files of the runs and indexes that a step's `against` names, in order.

    Raises RecipeError if one of them is no finished run or index, or has no keys that can be compared with the step's.
    """
    kept: list[Kept] = []
    for place in against(step):
        if storage.name_of(place) != place:
            raise RecipeError(
                f"{label}.against: {storage.name_of(place)}: user, password and signature of a URL are not used here, "
                f"and would be written down. Copy it here first, and name the folder"
            )
        if storage.exists(storage.join(place, INDEX)):
            kept += _from_index(place, step, label)
        elif RunFolder(place).exists():
            kept += _from_run(RunFolder(place), step, label)
        else:
            raise RecipeError(
                f"{label}.against: {place} is neither the folder of a run nor an index{_near(place)} "
                f"`corpusmill index RUN FOLDER` makes an index."
            )
    if not kept:
        return EarlierKeys()
    content = hashlib.sha256("\n".join(content for _, content in kept).encode()).hexdigest()
    return EarlierKeys(tuple(file for file, _ in kept), content)


def against(step: Any) -> tuple[str, ...]:
    """The places that a step's `against` names."""
    if not isinstance(step, ComparesWithEarlierRuns):
        return ()
    return (step.against,) if isinstance(step.against, str) else tuple(step.against)


def _near(place: str) -> str:
    if not storage.is_local(place):
        return "."
    folder = Path(storage.local_path(place))
    beside = folder.parent.glob("*") if folder.parent.is_dir() else ()
    runs = [path.name for path in beside if (path / INDEX).is_file() or RunFolder(str(path)).exists()]
    return did_you_mean(folder.name, runs) or "."


def refuse_itself(recipe: Recipe, run: RunFolder) -> None:
    """Raises RecipeError if a step compares a run with itself: then all of its documents would be dropped."""
    for label, step in zip(labels(recipe.steps), recipe.steps):
        if any(_same(run.place, place) for place in against(step)):
            raise RecipeError(
                f"{label}.against: {run.place} is the folder of this run itself. Give this run another folder "
                f"(run.folder, or --folder), or export an index of the earlier one first: "
                f"corpusmill index {run.place} FOLDER"
            )


def _same(one: str, other: str) -> bool:
    if storage.is_local(one) and storage.is_local(other):
        return Path(storage.local_path(one)).resolve() == Path(storage.local_path(other)).resolve()
    return one.rstrip("/") == other.rstrip("/")


def comparable(step: CorpusStep) -> dict[str, Any]:
    """What two steps must have in common for their keys to be compared: the step, and what its keys depend on."""
    described = keys_description(step)
    parameters = {name: value for name, value in described["parameters"].items() if name != "keep"}
    return {"name": described["step"], "parameters": parameters, "format": FORMAT}


def key_files(run: RunFolder, label: str) -> Iterator[Kept]:
    """The keys that a run made for a corpus step, a file for each unit, with the documents that it kept to the end.

    Raises RecipeError if the run is not finished.
    """
    record = run.record()
    results = run.results()
    judging = next(i for i, info in enumerate(record["passes"]) if label in info["labels"])
    # The pass before the one that takes the verdicts made the keys.
    signing, final = (results.get(record["passes"][i]["stage"]) for i in (judging - 1, -1))
    if not signing or not final or not signing.complete or not final.complete or len(final) != len(signing):
        raise RecipeError(
            f"{run.place}: the run is not finished. Finish it first: corpusmill run RECIPE --folder {run.place}"
        )
    outputs = [(signing, f"keys-{label}"), (signing, "docs"), (final, "docs")]
    for unit in range(len(signing)):
        keys, docs, kept = (_absolute(run.name_of(stage[name].path(unit))) for stage, name in outputs)
        rows = int(signing["docs"].rows[unit])
        yield KeyFile(keys, docs, kept, rows), ",".join(stage[name].checksum(unit) for stage, name in outputs)


def _absolute(name: str) -> str:
    return str(Path(storage.local_path(name)).absolute()) if storage.is_local(name) else name


def _from_run(run: RunFolder, step: CorpusStep, label: str) -> list[Kept]:
    record = run.record()
    recipe = Recipe.parse(record["recipe"], run.place)
    same = {name: other for name, other in zip(labels(recipe.steps), recipe.steps) if type(other) is type(step)}
    wanted, made = comparable(step), record.get("keys")
    fitting = [name for name, other in same.items() if comparable(other) == wanted]
    if fitting and made != FORMAT:
        raise RecipeError(f"{label}.against: {run.place} {_of_another_format(made)}: run it again with this one.")
    if not fitting:
        have = "; ".join(f"{name} has {comparable(other)['parameters']}" for name, other in same.items())
        have = have or f"its steps are {', '.join(labels(recipe.steps)) or 'none'}"
        raise RecipeError(
            f"{label}.against: {run.place} has no {name_of(step)} with the keys of this one, {wanted['parameters']}: "
            f"{have}."
        )
    try:
        return list(key_files(run, label if label in fitting else fitting[0]))
    except RecipeError as error:
        raise RecipeError(f"{label}.against: {error}") from None


def _of_another_format(made: int | None) -> str:
    return f"has keys of another version of corpusmill, which cannot be compared (format {made}, here {FORMAT})"


def _from_index(place: str, step: CorpusStep, label: str) -> list[Kept]:
    record = json.loads(storage.read_bytes(storage.join(place, INDEX)))
    wanted, has = comparable(step), record["keys_of"]
    if has != wanted and has | {"format": FORMAT} == wanted:
        raise RecipeError(
            f"{label}.against: {place} {_of_another_format(has.get('format'))}: run its recipe again with this one, "
            f"and make the index of that run: corpusmill index RUN FOLDER."
        )
    if has != wanted:
        raise RecipeError(
            f"{label}.against: {place} is an index of {has}, and this step has {wanted}. Its keys cannot be compared."
        )
    there = {kind: set(storage.list_dir(storage.join(place, kind))) for kind in ("keys", "docs")}
    for file in record["files"]:
        for kind in ("keys", "docs"):
            if file[kind].rpartition("/")[2] not in there[kind]:
                raise RecipeError(f"{label}.against: {place} is not whole: {file[kind]} is missing. Copy it again.")
    kept = []
    for file in record["files"]:
        keys, docs = (_absolute(storage.join(place, file[kind])) for kind in ("keys", "docs"))
        content = f"{file['keys_checksum']},{file['docs_checksum']}"
        kept.append((KeyFile(keys, docs, None, file["rows"]), content))
    return kept
