"""What earlier runs kept, for steps with `against`: the keys of their documents, as those runs or an index left them."""

import hashlib
import json
from pathlib import Path
from typing import Any

from corpusmill import assets
from corpusmill.errors import RecipeError, did_you_mean
from corpusmill.execute.commits import StageFolder
from corpusmill.keys import FORMAT, KeyFile
from corpusmill.recipe.fingerprint import describe
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels, name_of
from corpusmill.steps import CorpusStep
from corpusmill.units import Commit

INDEX = "index.json"


def describe_with_assets(step: Any) -> dict[str, Any]:
    """A step with the checksums of the assets that it names."""
    names = getattr(step, "assets", ())
    return {**describe(step), "assets": [assets.fingerprint(assets.locate(name)) for name in names]}


def keys_of(step: Any) -> dict[str, Any]:
    """A corpus step as far as its keys depend on it: a change of the rest leaves the pass before it as it is."""
    described = describe_with_assets(step)
    parameters = described["parameters"]
    return described | {"parameters": {name: parameters[name] for name in step.keyed_by}}


def earlier_keys(step: Any, label: str) -> tuple[tuple[KeyFile, ...], str]:
    """The key files of the runs and indexes that a step's `against` names, in order, and a fingerprint of them.

    Raises RecipeError if one of them is no finished run or index, or has no keys that can be compared with the step's.
    """
    against = getattr(step, "against", None) or ()
    files: list[KeyFile] = []
    digest = hashlib.sha256()
    for path in (against,) if isinstance(against, str) else against:
        folder = Path(path)
        if (folder / INDEX).is_file():
            found, about = _from_index(folder, step, label), (folder / INDEX).read_bytes()
        elif (folder / "run.json").is_file():
            found, about = from_run(folder, step, label), (folder / "run.json").read_bytes()
        else:
            near = did_you_mean(str(folder), map(str, folder.parent.glob("*")) if folder.parent.is_dir() else ())
            raise RecipeError(
                f"{label}.against: {folder} is neither the folder of a run nor an index{near or '.'} "
                f"`corpusmill index RUN FOLDER` makes an index."
            )
        files += found
        digest.update(about)
    return tuple(files), digest.hexdigest() if files else ""


def comparable(step: Any) -> dict[str, Any]:
    """What two steps must have in common for their keys to be compared: the step, and what its keys depend on."""
    described = keys_of(step)
    parameters = {name: value for name, value in described["parameters"].items() if name != "keep"}
    return {"name": described["name"], "parameters": parameters, "format": FORMAT}


def from_run(folder: Path, step: Any, label: str) -> list[KeyFile]:
    """The keys that a run made for the same step, with the documents that it kept to the end."""
    record = json.loads((folder / "run.json").read_bytes())
    recipe = Recipe.parse(record["recipe"], str(folder / "run.json"))
    named = list(zip(labels(recipe.steps), recipe.steps))
    same = [(name, other) for name, other in named if type(other) is type(step)]
    wanted = comparable(step)
    made = record.get("keys")
    fitting = [name for name, other in same if comparable(other) | {"format": made} == wanted]
    if not fitting:
        have = "; ".join(f"{name} has {comparable(other)['parameters']}" for name, other in same) or "it has none"
        have += "" if made == FORMAT else f"; and its keys are of format {made}, not {FORMAT}"
        raise RecipeError(
            f"{label}.against: {folder} has no {name_of(step)} with the keys of this one, {wanted['parameters']}: {have}."
        )
    stages = {name.split("-", 1)[1].rsplit("-", 1)[0]: name for name in record["stages"]}
    signing = _signing_pass(recipe, record, fitting[0])
    commits = _commits(folder, stages[signing])
    final = _commits(folder, stages[record["passes"][-1]["stage"]])
    last = StageFolder(folder, record["stages"][-1])
    if not commits or len(final) != len(commits) or not last.commits():
        raise RecipeError(f"{label}.against: the run in {folder} is not finished. Finish it first: corpusmill run …")
    root, whole = folder.absolute(), signing == record["passes"][-1]["stage"]
    return [
        KeyFile(
            str(root / commit.outputs[f"keys-{fitting[0]}"].path),
            str(root / commit.outputs["docs"].path),
            None if whole else str(root / kept.outputs["docs"].path),
            commit.outputs["docs"].rows,
        )
        for commit, kept in zip(commits, final)
    ]


def _signing_pass(recipe: Recipe, record: dict[str, Any], label: str) -> str:
    """The pass that made the keys of a corpus step: the one before that which brings its verdicts."""
    stages = [info["stage"] for info in record["passes"]]
    judged = next(i for i, info in enumerate(record["passes"]) if label in info["labels"])
    assert isinstance(recipe.steps[labels(recipe.steps).index(label)], CorpusStep)
    return str(stages[judged - 1])


def _from_index(folder: Path, step: Any, label: str) -> list[KeyFile]:
    record = json.loads((folder / INDEX).read_bytes())
    wanted = comparable(step)
    if record["keys_of"] != wanted:
        raise RecipeError(f"{label}.against: {folder} is an index of {record['keys_of']}, and this step has {wanted}.")
    root = folder.absolute()
    return [KeyFile(str(root / file["keys"]), str(root / file["docs"]), None, file["rows"]) for file in record["files"]]


def _commits(folder: Path, stage: str) -> list[Commit]:
    found = StageFolder(folder, stage).commits()
    return [found[number] for number in sorted(found)]
