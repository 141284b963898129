"""What earlier runs kept, for steps with `against`: the keys of their documents, as those runs or an index left
them."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Any

from corpusmill import storage
from corpusmill.engine.plan.identity import keys_description
from corpusmill.errors import RecipeError, did_you_mean, other_format
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels, name_of
from corpusmill.steps import ComparesWithEarlierRuns, CorpusStep
from corpusmill.steps.keys import FORMAT, EarlierKeys, KeyFile
from corpusmill.store.run_folder import RunFolder

INDEX = "index.json"
INDEX_FORMAT, INDEX_VERSION = "corpusmill-index", 1
Kept = tuple[KeyFile, str]  # a file, and a fingerprint of what it and its documents hold


def earlier_keys(step: CorpusStep, label: str) -> EarlierKeys:
    """The key files of the runs and indexes that a step's `against` names, in order.

    Raises RecipeError if one of them is no finished run or index, or has no keys that can be compared with the step's.
    """
    files: list[Kept] = []
    for location in against(step):
        if storage.name_of(location) != location:
            raise RecipeError(
                f"{label}.against: {storage.name_of(location)}: user, password and signature of a URL are not used "
                f"here, and would be written down. Copy it here first, and name the folder"
            )
        if storage.exists(storage.join(location, INDEX)):
            files += _from_index(location, step, label)
        elif RunFolder(location).exists():
            files += _from_run(RunFolder(location), step, label)
        else:
            raise RecipeError(
                f"{label}.against: {location} is neither the folder of a run nor an index{nearest_runs(location)} "
                f"`corpusmill index RUN FOLDER` makes an index."
            )
    if not files:
        return EarlierKeys()
    content = hashlib.sha256("\n".join(content for _, content in files).encode()).hexdigest()
    return EarlierKeys(tuple(file for file, _ in files), content)


def against(step: Any) -> tuple[str, ...]:
    """The places that a step's `against` names."""
    if not isinstance(step, ComparesWithEarlierRuns):
        return ()
    return (step.against,) if isinstance(step.against, str) else tuple(step.against)


def nearest_runs(location: str) -> str:
    if not storage.is_local(location):
        return "."
    folder = Path(storage.local_path(location))
    siblings = folder.parent.glob("*") if folder.parent.is_dir() else ()
    runs = [path.name for path in siblings if (path / INDEX).is_file() or RunFolder(str(path)).exists()]
    return did_you_mean(folder.name, runs) or "."


def refuse_itself(recipe: Recipe, run: RunFolder) -> None:
    """Raises RecipeError if a step compares a run with itself: then all of its documents would be dropped."""
    for index, step in enumerate(recipe.steps):
        if any(_same(run.place, location) for location in against(step)):
            label = labels(recipe.steps)[index]
            raise RecipeError(
                f"{label}.against: {run.place} is the folder of this run itself. Give this run another folder "
                f"(run.folder, or --folder), or export an index of the earlier one first: "
                f"corpusmill index {quote(run.place)} FOLDER"
            )


def _same(first: str, second: str) -> bool:
    if storage.is_local(first) and storage.is_local(second):
        return Path(storage.local_path(first)).resolve() == Path(storage.local_path(second)).resolve()
    return first.rstrip("/") == second.rstrip("/")


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
            f"{run.place}: the run is not finished. Finish it first: corpusmill run RECIPE --folder {quote(run.place)}"
        )
    if run.stage_of(signing).is_freed(f"keys-{label}"):
        raise RecipeError(
            f"{run.place}: its keys were removed when it had finished (run.keep: output). Make them again: "
            f"corpusmill run RECIPE --folder {quote(run.place)} --set run.keep=all"
        )
    outputs = [(signing, f"keys-{label}"), (signing, "docs"), (final, "docs")]
    for unit in range(len(signing)):
        keys, docs, map_file = (_absolute(run.name_of(stage[name].path(unit))) for stage, name in outputs)
        rows = int(signing["docs"].rows[unit])
        yield KeyFile(keys, docs, map_file, rows), ",".join(stage[name].checksum(unit) for stage, name in outputs)


def _absolute(name: str) -> str:
    return str(Path(storage.local_path(name)).absolute()) if storage.is_local(name) else name


def _from_run(run: RunFolder, step: CorpusStep, label: str) -> list[Kept]:
    record = run.record()
    recipe = Recipe.parse(record["recipe"], run.place, recorded=True)
    same = {name: earlier for name, earlier in zip(labels(recipe.steps), recipe.steps) if type(earlier) is type(step)}
    expected, format_ = comparable(step), record.get("keys")
    fitting = [name for name, earlier in same.items() if comparable(earlier) == expected]
    if fitting and format_ != FORMAT:
        raise RecipeError(f"{label}.against: {run.place} {_of_another_format(format_)}: run it again with this one.")
    if not fitting:
        have = "; ".join(f"{name} has {comparable(earlier)['parameters']}" for name, earlier in same.items())
        have = have or f"its steps are {', '.join(labels(recipe.steps)) or 'none'}"
        raise RecipeError(
            f"{label}.against: {run.place} has no {name_of(step)} with the keys of this one, {expected['parameters']}: "
            f"{have}."
        )
    try:
        return list(key_files(run, label if label in fitting else fitting[0]))
    except RecipeError as error:
        raise RecipeError(f"{label}.against: {error}") from None


def _of_another_format(format_: int | None) -> str:
    return f"has keys of another version of corpusmill, which cannot be compared (format {format_}, here {FORMAT})"


def _from_index(location: str, step: CorpusStep, label: str) -> list[Kept]:
    name = storage.join(location, INDEX)
    record = json.loads(storage.read_bytes(name))
    if (version := record.get("version", 1)) != INDEX_VERSION:  # 0.9 wrote no number
        raise RecipeError(f"{label}.against: {other_format(name, version, INDEX_VERSION)}")
    expected, has = comparable(step), record["keys_of"]
    if has != expected and has | {"format": FORMAT} == expected:
        raise RecipeError(
            f"{label}.against: {location} {_of_another_format(has.get('format'))}: run its recipe again with this one, "
            f"and make the index of that run: corpusmill index RUN FOLDER."
        )
    if has != expected:
        raise RecipeError(
            f"{label}.against: {location} is an index of {has}, and this step has {expected}. "
            "Its keys cannot be compared."
        )
    names = {kind: set(storage.list_dir(storage.join(location, kind))) for kind in ("keys", "docs")}
    for file in record["files"]:
        for kind in ("keys", "docs"):
            if file[kind].rpartition("/")[2] not in names[kind]:
                raise RecipeError(f"{label}.against: {location} is not whole: {file[kind]} is missing. Copy it again.")
    files = []
    for file in record["files"]:
        keys, docs = (_absolute(storage.join(location, file[kind])) for kind in ("keys", "docs"))
        content = f"{file['keys_checksum']},{file['docs_checksum']}"
        files.append((KeyFile(keys, docs, None, file["rows"]), content))
    return files
