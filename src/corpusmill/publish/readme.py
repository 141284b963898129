"""The card of a data set: metadata that the Hub reads, and where the documents come from, in numbers of the run."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from corpusmill.assets.hub import MAIN_REVISION, Repo
from corpusmill.publish import composition
from corpusmill.publish.folder import DatasetConfig
from corpusmill.publish.published_run import PublishedRun
from corpusmill.report.figures.models import model_uses
from corpusmill.report.figures.split import split_by, split_sides
from corpusmill.report.numbers import number, size
from corpusmill.report.run_files import RunFiles
from corpusmill.shards.layout import output_of
from corpusmill.store.run_folder import CANARIES_RECORD

# How the first line of the text begins. A card without it has been edited by somebody, and is not written again.
MARK = "<!-- Written by corpusmill"
MARK_LINE = f"{MARK}, and again by the next card or push. To keep your changes, remove this line. -->"
LANGUAGE_CODE = re.compile(r"[a-z]{2,3}")  # ISO 639
CANARIES, CANARY = 20, 80  # that are listed, and characters of each
MIN_LANGUAGE_SHARE = 0.01  # of the documents: a language that is named in the metadata
SIZE_BOUNDS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 10**9, 10**10, 10**11, 10**12)
SIZE_NAMES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B",
              "10B<n<100B", "100B<n<1T", "n>1T")  # fmt: skip


def dataset_card(run: PublishedRun, configs: Sequence[DatasetConfig], repo: Repo | None) -> str:
    """README.md of the data set: in the repository `repo`, or of a folder if that is None. Every number in it is one of
    the run's records."""
    files, flow = run.files, run.flow
    parts = [
        f"---\n{_metadata(run, configs)}---",
        MARK_LINE,
        f"# {files.name}",
        f"{run.summary}: what is kept of {number(flow.documents_in)} documents by the steps below.",
        _loading(configs, repo),
        composition.sources(flow, files),
        composition.split_of(split_by(run.tables), split_sides(run.tables)),
        composition.domains_of(run.domains),
        composition.licences_of(run.licences, run.license),
        composition.rights_of(run.rights),
        composition.models_of(model_uses(run.tables), run.synthetic),
        composition.spoken(run.languages, run.language_step),
        composition.funnel(flow),
        composition.redacted(files),
        composition.audited(run.audit),
        _planted(files),
        _columns(configs),
        _made_with(files),
        _unknown(run),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def size_category(documents: int) -> str:
    """As the Hub names it.

    >>> size_category(0), size_category(999), size_category(1000), size_category(10**13)
    ('n<1K', 'n<1K', '1K<n<10K', 'n>1T')
    """
    return SIZE_NAMES[sum(documents >= bound for bound in SIZE_BOUNDS)]


def portable(files: RunFiles) -> str:
    """The recipe, without the names of folders of this machine."""
    text = files.recipe_text
    paths = [str(entry["path"]) for entries in files.inputs.values() for entry in entries]
    folders = {str(Path(path).parent) for path in paths if "://" not in path and Path(path).is_absolute()}
    above = {str(parent) for folder in folders for parent in Path(folder).parents if len(parent.parts) > 2}
    for folder in sorted({*folders, *above, str(Path.home())} - {"/"}, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.-]){re.escape(folder)}(?=[/\s\"',\]}}]|$)", "…", text)
    return text


def _metadata(run: PublishedRun, configs: Sequence[DatasetConfig]) -> str:
    everything = sum(language.kept for language in run.languages)
    codes = [
        language.label
        for language in run.languages
        if LANGUAGE_CODE.fullmatch(language.label or "") and language.kept >= MIN_LANGUAGE_SHARE * everything
    ]
    record: dict[str, Any] = {"pretty_name": run.files.name}
    if run.license:
        record["license"] = run.license
    if codes:
        record["language"] = codes
    record["task_categories"] = ["text-generation"]
    record["size_categories"] = [size_category(run.flow.documents_out)]
    record["tags"] = ["corpusmill", "pretraining", *(["synthetic"] if run.synthetic else [])]
    if configs:
        record["configs"] = [
            {
                "config_name": name,
                "data_files": [
                    {"split": config.split, "path": config.pattern} for config in configs if config.name == name
                ],
            }
            | ({"default": True} if number == 0 else {})
            for number, name in enumerate(dict.fromkeys(config.name for config in configs))
        ]
    return str(yaml.safe_dump(record, sort_keys=False, allow_unicode=True))


def _loading(configs: Sequence[DatasetConfig], repo: Repo | None) -> str:
    if not configs:
        return (
            "## How to load it\n\nAs training shards, with `corpusmill.loader.TokenLoader`: the run wrote neither "
            "Parquet nor JSON Lines."
        )
    name, at = (f'"{repo.name}"', "") if repo else ("FOLDER", "")
    if repo and repo.revision != MAIN_REVISION:
        at = f', revision="{repo.revision}"'
    lines = ["from datasets import load_dataset", ""]
    if not repo:
        lines[1:1] = ["", 'FOLDER = "."  # that of this card']
    for config in configs:
        config_name = "" if config.name == "default" else f', "{config.name}"'
        variable = output_of(config.output, config.split).replace("-", "_")
        lines.append(f'{variable} = load_dataset({name}{config_name}, split="{config.split}", streaming=True{at})')
    return "## How to load it\n\n```python\n" + "\n".join(lines) + "\n```"


def _columns(configs: Sequence[DatasetConfig]) -> str:
    rows = [
        (config.key, number(config.files), number(config.rows), size(config.bytes),
         ", ".join(f"`{name}`: {kind}" for name, kind in config.columns.items()))
        for config in configs
    ]  # fmt: skip
    if not rows:
        return ""
    return f"## Files and columns\n\n{composition.table(('configuration', 'files', 'rows', 'size', 'columns'), rows)}"


def _planted(files: RunFiles) -> str:
    record = files.folder.read(CANARIES_RECORD)
    if record is None:
        return ""
    rows = [
        (
            canary["name"],
            number(len(canary["documents"])),
            canary["source"] or "all",
            f"`{canary['text'][:CANARY]}`".replace("|", "\\|"),
        )
        for canary in record["canaries"][:CANARIES]
    ]
    unlisted = len(record["canaries"]) - len(rows)
    tail = f"\n\nAnd {number(unlisted)} more." if unlisted else ""
    return (
        "## Planted strings\n\nThe data holds strings that no source had, in documents of their own with the source "
        "`canary`, to find out what a model remembers. To train without them, leave that source out.\n\n"
        + composition.table(("name", "documents", "behind documents of", "text"), rows)
        + tail
    )


def _made_with(files: RunFiles) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in files.versions.items())
    return (
        f"## How it was made\n\nBy the recipe below, fingerprint `{files.fingerprint[:16]}`, with {versions}. The same "
        "recipe, input and versions give the same bytes.\n\n"
        f"```yaml\n{portable(files).rstrip()}\n```"
    )


def _unknown(run: PublishedRun) -> str:
    lines = [
        "- Who wrote single documents, and whether they agreed to this use: the run does not know.",
        "- Biases, factual errors and harmful content beyond the rules above were not measured.",
        "- No model was trained on it to say how good it is.",
    ]
    if not run.license:
        lines.insert(0, "- The licence: none was given. Texts stay under the terms of their sources.")
    return "## What this card does not know\n\n" + "\n".join(lines)
