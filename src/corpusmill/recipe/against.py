"""What earlier runs kept, for steps with `against`: the keys of their documents, as those runs or an index left them."""

import json
from pathlib import Path
from typing import Any

from corpusmill import assets
from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.execute.commits import StageFolder
from corpusmill.keys import FORMAT, KeyFile
from corpusmill.recipe.fingerprint import describe, digest
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels, name_of
from corpusmill.units import Commit

INDEX, RUN = "index.json", "run.json"


def describe_with_assets(step: Any) -> dict[str, Any]:
    """A step with the checksums of the assets that it names."""
    names = getattr(step, "assets", ())
    return {**describe(step), "assets": [assets.digest(name) for name in names]}


def keys_of(step: Any) -> dict[str, Any]:
    """A corpus step as far as its keys depend on it: a change of the rest leaves the pass before it as it is."""
    described = describe_with_assets(step)
    parameters = described["parameters"]
    return described | {"parameters": {name: parameters[name] for name in step.keyed_by}}


def earlier_keys(step: Any, label: str) -> tuple[tuple[KeyFile, ...], str]:
    """The key files of the runs and indexes that a step's `against` names, in order, and a fingerprint of them.

    The fingerprint is that of what the files hold and where they are, so an earlier run that was repeated without a
    change leaves it as it is.
    Raises RecipeError if one of them is no finished run or index, or has no keys that can be compared with the step's.
    """
    files: list[KeyFile] = []
    prints: list[Any] = []
    for folder in against(step):
        if (folder / INDEX).is_file():
            found, about = _from_index(folder, step, label)
        elif (folder / RUN).is_file():
            found, about = _from_run(folder, step, label)
        else:
            beside = folder.parent.glob("*") if folder.parent.is_dir() else ()
            near = did_you_mean(folder.name, [p.name for p in beside if (p / INDEX).is_file() or (p / RUN).is_file()])
            raise RecipeError(
                f"{label}.against: {folder} is neither the folder of a run nor an index{near or '.'} "
                f"`corpusmill index RUN FOLDER` makes an index."
            )
        files += found
        prints.append([str(folder.absolute()), about])
    return tuple(files), digest(prints) if files else ""


def against(step: Any) -> tuple[Path, ...]:
    """The folders that a step's `against` names."""
    named = getattr(step, "against", None) or ()
    return tuple(map(Path, (named,) if isinstance(named, str) else named))


def refuse_itself(recipe: Recipe, root: Path) -> None:
    """Raises RecipeError if a step compares a run with itself: then all of its documents would go."""
    for label, step in zip(labels(recipe.steps), recipe.steps):
        if root.resolve() in (folder.resolve() for folder in against(step)):
            raise RecipeError(
                f"{label}.against: {root} is the folder of this run itself. Give this run another folder (run.folder, "
                f"or --folder), or export an index of the earlier one first: corpusmill index {root} FOLDER"
            )


def comparable(step: Any) -> dict[str, Any]:
    """What two steps must have in common for their keys to be compared: the step, and what its keys depend on."""
    described = keys_of(step)
    parameters = {name: value for name, value in described["parameters"].items() if name != "keep"}
    return {"name": described["name"], "parameters": parameters, "format": FORMAT}


def key_files(folder: Path, label: str) -> tuple[list[KeyFile], list[Any]]:
    """The keys that a run made for a corpus step, a file a unit, with the documents that it kept to the end; and the
    checksums of all these files.

    Raises RecipeError if the run is not finished.
    """
    record = json.loads((folder / RUN).read_bytes())
    stages = {name.split("-", 1)[1].rsplit("-", 1)[0]: name for name in record["stages"]}
    judging = next(i for i, info in enumerate(record["passes"]) if label in info["labels"])
    # The pass before the one that brings the verdicts made the keys.
    signing, final = (_commits(folder, stages[record["passes"][i]["stage"]]) for i in (judging - 1, -1))
    if not signing or len(final) != len(signing):
        raise RecipeError(
            f"{folder}: the run is not finished. Finish it first: corpusmill run RECIPE --folder {folder}"
        )
    root = folder.absolute()
    files, checksums = [], []
    for commit, last in zip(signing, final):
        keys, docs, kept = commit.outputs[f"keys-{label}"], commit.outputs["docs"], last.outputs["docs"]
        files.append(KeyFile(str(root / keys.path), str(root / docs.path), str(root / kept.path), docs.rows))
        checksums.append([[output.path, output.checksum] for output in (keys, docs, kept)])
    return files, checksums


def _from_run(folder: Path, step: Any, label: str) -> tuple[list[KeyFile], list[Any]]:
    record = json.loads((folder / RUN).read_bytes())
    recipe = Recipe.parse(record["recipe"], str(folder / RUN))
    same = {name: other for name, other in zip(labels(recipe.steps), recipe.steps) if type(other) is type(step)}
    wanted, made = comparable(step), record.get("keys")
    fitting = [name for name, other in same.items() if comparable(other) | {"format": made} == wanted]
    if not fitting:
        have = "; ".join(f"{name} has {comparable(other)['parameters']}" for name, other in same.items())
        have = have or f"its steps are {', '.join(labels(recipe.steps)) or 'none'}"
        have += "" if made == FORMAT else f"; and its keys are of format {made}, not {FORMAT}: run it again"
        raise RecipeError(
            f"{label}.against: {folder} has no {name_of(step)} with the keys of this one, {wanted['parameters']}: {have}."
        )
    try:
        return key_files(folder, label if label in fitting else fitting[0])
    except RecipeError as error:
        raise RecipeError(f"{label}.against: {error}") from None


def _from_index(folder: Path, step: Any, label: str) -> tuple[list[KeyFile], Any]:
    record = json.loads((folder / INDEX).read_bytes())
    wanted = comparable(step)
    if record["keys_of"] != wanted:
        raise RecipeError(
            f"{label}.against: {folder} is an index of {record['keys_of']}, and this step has {wanted}. "
            f"Its keys cannot be compared."
        )
    for file in record["files"]:
        for name in ("keys", "docs"):
            if not (folder / file[name]).is_file():
                raise RecipeError(f"{label}.against: {folder} is not whole: {file[name]} is missing. Copy it again.")
    root = folder.absolute()
    files = [
        KeyFile(str(root / file["keys"]), str(root / file["docs"]), None, file["rows"]) for file in record["files"]
    ]
    return files, record


def _commits(folder: Path, stage: str) -> list[Commit]:
    found = StageFolder(folder, stage).commits()
    return [found[number] for number in sorted(found)]
