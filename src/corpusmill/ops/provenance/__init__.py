"""When, where, from what and with what a run was carried out: `run.json`, on which no byte of an output depends."""

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from corpusmill import assets
from corpusmill.about import __version__
from corpusmill.engine.plan.plan import RunPlan
from corpusmill.hidden import Hidden
from corpusmill.recipe.dump import dump
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels
from corpusmill.steps import ReadsAssets, SolvesParameters
from corpusmill.steps.keys import FORMAT
from corpusmill.storage import printable
from corpusmill.store.owned import VERSION

Held = dict[str, dict[str, str]]


def describe(plan: RunPlan) -> dict[str, Any]:
    """What run.json says of a run, but for its calls: what is run, on what, with which versions.

    recipe    as resolved: YAML with every value that was used. It does the same in a version with other defaults
    written   as it was written: `text`, `file` and `overrides`; None of a recipe that was made in Python
    assets    name -> `sha256`, and the `revision` of one of the hub, of the models, lists and tokenizers of the recipe
    solved    label -> parameters that a step found itself, from its others
    inputs    source -> its files: path, size, the fingerprint that says whether one has changed, and the name that its
              documents have it by
    versions  of corpusmill, Python, and of every library that the code of the run imports

    Secrets are hidden, see `Hidden`. Raises AssetError if an asset has changed since the plan was made.
    """
    recipe, versions = plan.recipe, _versions(plan)
    hidden = hidden_in(recipe)
    original = recipe.written
    with assets.pinned(plan.assets):
        asset_facts = dict(_assets(recipe))
    solved = _solved(recipe)
    return {
        "name": recipe.name,
        "recipe": _resolved(recipe, asset_facts, solved, hidden),
        "written": original
        and {
            "file": hidden(printable(original.file)),
            "text": hidden(original.text),
            "overrides": list(map(hidden, original.overrides)),
        },
        "fingerprint": recipe.fingerprint(),
        **({"limited": recipe.run.limited} if recipe.run.limited else {}),
        "versions": versions,
        "command": hidden.words([printable(argument) for argument in sys.argv]),
        "inputs": {
            source.source: [
                {"path": path, "bytes": f.size, "fingerprint": f.fingerprint, "name": hidden(printable(f.name))}
                for f in source_files.files
                for path in [hidden(printable(f.path))]
            ]
            for source, source_files in zip(recipe.read, plan.inputs)
        },
        "assets": {hidden(name): facts for name, facts in asset_facts.items()},
        "solved": solved,
        "hub": {name: facts for name, facts in asset_facts.items() if "revision" in facts},
        "passes": [
            {"stage": info.stage, "labels": list(info.labels), "only": {k: list(v) for k, v in info.only.items()}}
            for info in plan.passes
        ],
        "keys": FORMAT,
        "format": VERSION,
    }


def hidden_in(recipe: Recipe) -> Hidden:
    """What hides the secrets of a recipe."""
    return Hidden([dump(recipe), *([recipe.written.text] if recipe.written else ())])


def _resolved(recipe: Recipe, asset_facts: Held, solved: dict[str, dict[str, Any]], hidden: Hidden) -> str:
    """The recipe with every value. What has no parameter is said in comments."""
    lines = [f"{name}: sha256 {facts['sha256']}" for name, facts in asset_facts.items()]
    for label, step in zip(labels(recipe.steps), recipe.steps):
        own = {name: value for name, value in solved.get(label, {}).items() if getattr(step, name) is None}
        lines += [f"{label}: {name} {value}, from its other parameters" for name, value in own.items()]
    comments = "".join(f"# {hidden(' '.join(line.split()))}\n" for line in lines)
    return comments + dump(recipe, resolved=True, shown=hidden)


def _assets(recipe: Recipe) -> Iterator[tuple[str, dict[str, str]]]:
    """Names and checksums. Of a key, nothing."""
    for part in (*(source.reader for source in recipe.read), *recipe.steps, *recipe.write):
        keys = (getattr(part, "key", None),)
        for name in part.assets if isinstance(part, ReadsAssets) else ():
            if name not in keys and not name.startswith(assets.ENV_SCHEME):
                yield name, assets.from_hub(name) or {"sha256": assets.fingerprint(assets.locate(name))}


def _solved(recipe: Recipe) -> dict[str, dict[str, Any]]:
    return {
        label: dict(step.solved_parameters)
        for label, step in zip(labels(recipe.steps), recipe.steps)
        if isinstance(step, SolvesParameters)
    }


def _versions(plan: RunPlan) -> dict[str, str]:
    versions = {"corpusmill": __version__, "python": platform.python_version()}
    for name in ("pyarrow", "numpy", "numba"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:  # installed without its metadata
            continue
    for identity in plan.identities.values():
        versions |= {name: number for name, number in identity.libraries.items() if name not in versions}
    ours = ("corpusmill", "python")
    return {name: versions[name] for name in (*ours, *sorted(versions.keys() - set(ours)))}
