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
    recipe = plan.recipe
    hidden = hidden_in(recipe)
    written = recipe.written
    with assets.kept(plan.assets):
        held = dict(_assets(recipe))
    solved = _solved(recipe)
    return {
        "name": recipe.name,
        "recipe": _resolved(recipe, held, solved, hidden),
        "written": written
        and {
            "file": hidden(printable(written.file)),
            "text": hidden(written.text),
            "overrides": list(map(hidden, written.overrides)),
        },
        "fingerprint": recipe.fingerprint(),
        **({"limited": recipe.run.limited} if recipe.run.limited else {}),
        "versions": _versions(plan),
        "command": hidden.words([printable(word) for word in sys.argv]),
        "inputs": {
            source.source: [
                {"path": path, "bytes": f.size, "fingerprint": f.fingerprint, "name": hidden(printable(f.name))}
                for f in found.files
                for path in [hidden(printable(f.path))]
            ]
            for source, found in zip(recipe.read, plan.inputs)
        },
        "assets": {hidden(name): facts for name, facts in held.items()},
        "solved": solved,
        "hub": {name: facts for name, facts in held.items() if "revision" in facts},
        "passes": [
            {"stage": info.stage, "labels": list(info.labels), "only": {k: list(v) for k, v in info.only.items()}}
            for info in plan.passes
        ],
        "keys": FORMAT,
    }


def hidden_in(recipe: Recipe) -> Hidden:
    """What hides the secrets of a recipe."""
    return Hidden([dump(recipe), *([recipe.written.text] if recipe.written else ())])


def _resolved(recipe: Recipe, held: Held, solved: dict[str, dict[str, Any]], hidden: Hidden) -> str:
    """The recipe with every value. What has no parameter is said in comments."""
    lines = [f"{name}: sha256 {facts['sha256']}" for name, facts in held.items()]
    for label, step in zip(labels(recipe.steps), recipe.steps):
        own = {name: value for name, value in solved.get(label, {}).items() if getattr(step, name) is None}
        lines += [f"{label}: {name} {value}, from its other parameters" for name, value in own.items()]
    comments = "".join(f"# {hidden(' '.join(line.split()))}\n" for line in lines)
    return comments + dump(recipe, resolved=True, shown=hidden)


def _assets(recipe: Recipe) -> Iterator[tuple[str, dict[str, str]]]:
    """Names and checksums. Of a key, nothing."""
    for thing in (*(source.reader for source in recipe.read), *recipe.steps, *recipe.write):
        keys = (getattr(thing, "key", None),)
        for name in thing.assets if isinstance(thing, ReadsAssets) else ():
            if name not in keys and not name.startswith(assets.VARIABLE):
                yield name, assets.from_hub(name) or {"sha256": assets.fingerprint(assets.locate(name))}


def _solved(recipe: Recipe) -> dict[str, dict[str, Any]]:
    return {
        label: dict(step.solved_parameters)
        for label, step in zip(labels(recipe.steps), recipe.steps)
        if isinstance(step, SolvesParameters)
    }


def _versions(plan: RunPlan) -> dict[str, str]:
    found = {"corpusmill": __version__, "python": platform.python_version()}
    for name in ("pyarrow", "numpy", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # installed without its metadata
            continue
    for identity in plan.identities.values():
        found |= {name: number for name, number in identity.libraries.items() if name not in found}
    ours = ("corpusmill", "python")
    return {name: found[name] for name in (*ours, *sorted(found.keys() - set(ours)))}
