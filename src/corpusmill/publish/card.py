"""The card of a data set: metadata that the Hub reads, and where the documents come from, in numbers of the run."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from corpusmill.errors import AssetError, RecipeError
from corpusmill.hub import MAIN, Repo
from corpusmill.publish.folder import SPLIT, Config
from corpusmill.recipe.dump import changed
from corpusmill.recipe.names import labels, name_of
from corpusmill.report.figures.languages import Language, languages
from corpusmill.report.numbers import number, share, size
from corpusmill.report.run_files import RunFiles
from corpusmill.report.tables import RunTables
from corpusmill.report.waterfall import Waterfall

# The first line of the text. A card without it has been edited by somebody, and is not written again.
MARK = "<!-- Written by corpusmill push, and anew by the next. To keep changes of yours, remove this line. -->"
CODE = re.compile(r"[a-z]{2,3}")  # ISO 639
LEAST = 0.01  # of the documents: a language that is named in the metadata
MOST = 10  # rows of a table of languages
REASONS = 3  # of a step
NUMBER = re.compile(r"(&lt; |> )?[\d,.]+( %| [kMGT]?B)?|–")
BOUNDS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 10**9, 10**10, 10**11, 10**12)
NAMES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B", "10B<n<100B",
         "100B<n<1T", "n>1T")  # fmt: skip


def dataset_card(tables: RunTables, configs: Sequence[Config], repo: Repo, license: str | None) -> str:
    """README.md of the data set. Every number in it is one of the run's records."""
    files, flow = tables.files, tables.files.waterfall()
    spoken = next(iter(languages(tables)[::-1]), None)
    kept = [one for one in spoken.languages if one.kept] if spoken else []
    made = _tokenizer(files)
    parts = [
        f"---\n{_metadata(files.name, configs, kept, flow, license)}---",
        MARK,
        f"# {files.name}",
        _summary(flow, made),
        _loading(configs, repo),
        _sources(flow, files),
        _funnel(flow),
        _changes(files),
        _languages(kept, spoken.step if spoken else None),
        _columns(configs),
        _made_with(files),
        _unknown(license),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def size_category(documents: int) -> str:
    """As the Hub names it.

    >>> size_category(0), size_category(999), size_category(1000), size_category(10**13)
    ('n<1K', 'n<1K', '1K<n<10K', 'n>1T')
    """
    return NAMES[sum(documents >= bound for bound in BOUNDS)]


def portable(files: RunFiles) -> str:
    """The recipe, without the names of folders of this machine."""
    text = files.recipe_text
    paths = [str(entry["path"]) for entries in files.inputs.values() for entry in entries]
    folders = {str(Path(path).parent) for path in paths if "://" not in path and Path(path).is_absolute()}
    above = {str(parent) for folder in folders for parent in Path(folder).parents if len(parent.parts) > 2}
    for folder in sorted({*folders, *above, str(Path.home())} - {"/"}, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.-]){re.escape(folder)}(?=[/\s\"',\]}}]|$)", "…", text)
    return text


def _metadata(
    name: str, configs: Sequence[Config], kept: Sequence[Language], flow: Waterfall, license: str | None
) -> str:
    everything = sum(one.kept for one in kept)
    codes = [one.label for one in kept if CODE.fullmatch(one.label or "") and one.kept >= LEAST * everything]
    record: dict[str, Any] = {"pretty_name": name}
    if license:
        record["license"] = license
    if codes:
        record["language"] = codes
    record["task_categories"] = ["text-generation"]
    record["size_categories"] = [size_category(flow.documents_out)]
    record["tags"] = ["corpusmill", "pretraining"]
    record["configs"] = [
        {"config_name": config.name, "data_files": [{"split": SPLIT, "path": config.pattern}]}
        | ({"default": True} if config.name == "default" else {})
        for config in configs
    ]
    return str(yaml.safe_dump(record, sort_keys=False, allow_unicode=True))


def _summary(flow: Waterfall, tokenizer: str | None) -> str:
    last = flow.rows[-1] if flow.rows else None
    facts = [f"{number(flow.documents_out)} documents"]
    if last and last.bytes_out:
        facts.append(f"{size(last.bytes_out)} of text")
    if last and last.tokens_out:
        facts.append(f"{number(last.tokens_out)} tokens" + (f" of the tokenizer `{tokenizer}`" if tokenizer else ""))
    return f"{', '.join(facts)}: what is kept of {number(flow.documents_in)} documents by the steps below."


def _loading(configs: Sequence[Config], repo: Repo) -> str:
    at = f', revision="{repo.revision}"' if repo.revision != MAIN else ""
    lines = ["from datasets import load_dataset", ""]
    for config in configs:
        named = "" if config.name == "default" else f', "{config.name}"'
        lines.append(f'{config.output} = load_dataset("{repo.name}"{named}, split="{SPLIT}", streaming=True{at})')
    return "## How to load it\n\n```python\n" + "\n".join(lines) + "\n```"


def _sources(flow: Waterfall, files: RunFiles) -> str:
    rows = []
    for name, source in flow.read.items():
        inputs = files.inputs.get(name, ())
        lost = sum(sum(source[kind].values()) for kind in ("expected", "dead"))
        rows.append((
            name, number(len(inputs)), size(sum(entry["bytes"] for entry in inputs)), number(source["documents"]),
            number(sum(source["skipped"].values())), number(lost),
        ))  # fmt: skip
    head = ("source", "files", "size of the files", "documents read", "records that are not documents", "not readable")
    return f"## Sources\n\n{_table(head, rows)}"


def _funnel(flow: Waterfall) -> str:
    if not flow.rows:
        return "## What was dropped\n\nNothing: the recipe has no steps."
    rows = []
    for row in flow.rows:
        reasons = [f"{name} {number(count)}" for name, count in list(row.reasons.items())[:REASONS]]
        if len(row.reasons) > REASONS:
            reasons.append("…")
        if row.failed:
            reasons.append(f"not processed {number(row.failed)}")
        rows.append((
            row.step, number(row.documents_in), number(row.documents_out), share(row.documents_out, row.documents_in),
            share(row.documents_out, flow.documents_in), ", ".join(reasons),
        ))  # fmt: skip
    head = ("step", "documents in", "kept", "of the step", "of the input", "dropped for, most frequent first")
    return (
        "## What was dropped\n\nSteps in order. A document is counted under the first rule that it fails.\n\n"
        f"{_table(head, rows)}"
    )


def _changes(files: RunFiles) -> str:
    """What steps changed in the texts, and whether personal data was looked for."""
    try:
        steps = list(zip(labels(files.recipe.steps), files.recipe.steps))
    except (RecipeError, AssetError):
        return "## What was redacted\n\nNot known: steps of the recipe could not be loaded when this card was written."
    lines = []
    for label, step in steps:
        name = name_of(step)
        if name.startswith(("redact/", "annotate/pii")):
            said = ", ".join(f"{key}: {value}" for key, value in changed(step).items() if "key" not in key)
            what = "redacts" if name.startswith("redact/") else "only marks"
            lines.append(
                f"- `{label}` (`{name}`) {what} personal data, {f'with {said}' if said else 'with its defaults'}."
            )
    if not any("redacts" in line for line in lines):
        lines.append("- No step redacts personal data: what the sources hold of it is still in the texts.")
    else:
        lines.append("- Redaction finds patterns; what it misses is still in the texts.")
    cleaned = [f"`{label}`" for label, step in steps if name_of(step).startswith(("clean/", "extract/", "map/"))]
    if cleaned:
        lines.append(f"- These steps change texts: {', '.join(cleaned)}. Their parameters are in the recipe.")
    return "## What was redacted\n\n" + "\n".join(lines)


def _languages(kept: Sequence[Language], step: str | None) -> str:
    if step is None:
        return "## Languages\n\nNot known: no step of the recipe identifies them."
    whole = sum(one.kept for one in kept)
    rows = [(one.label or "none found", number(one.kept), share(one.kept, whole)) for one in kept[:MOST]]
    if len(kept) > MOST:
        rest = sum(one.kept for one in kept[MOST:])
        rows.append((f"{len(kept) - MOST} others", number(rest), share(rest, whole)))
    return (
        f"## Languages\n\nAs the step `{step}` identified them, of the documents that its pass kept; steps that follow "
        f"it may have dropped some.\n\n{_table(('language', 'documents', 'share'), rows)}"
    )


def _columns(configs: Sequence[Config]) -> str:
    rows = [
        (config.name, number(config.files), number(config.rows), size(config.bytes),
         ", ".join(f"`{name}`: {kind}" for name, kind in config.columns.items()))
        for config in configs
    ]  # fmt: skip
    return f"## Files and columns\n\n{_table(('configuration', 'files', 'rows', 'size', 'columns'), rows)}"


def _made_with(files: RunFiles) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in files.versions.items())
    return (
        f"## How it was made\n\nBy the recipe below, fingerprint `{files.fingerprint[:16]}`, with {versions}. The same "
        "recipe, input and versions give the same bytes.\n\n"
        f"```yaml\n{portable(files).rstrip()}\n```"
    )


def _unknown(license: str | None) -> str:
    lines = [
        "- Who wrote single documents, and whether they agreed to this use: the run does not know.",
        "- Biases, factual errors and harmful content beyond the rules above were not measured.",
        "- No model was trained on it to say how good it is.",
    ]
    if not license:
        lines.insert(0, "- The licence: none was given. Texts stay under the terms of their sources.")
    return "## What this card does not know\n\n" + "\n".join(lines)


def _tokenizer(files: RunFiles) -> str | None:
    """As the recipe names it; a path of this machine by its last part. None if there is none, or it is not known."""
    try:
        names = [step.tokenizer for step in files.recipe.steps if name_of(step) == "tokenize/bpe"]
    except (RecipeError, AssetError):
        return None
    return next((name if not Path(name).is_absolute() else Path(name).name for name in names), None)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown: the first column and texts flush left, numbers flush right."""
    listed = [tuple(_cell(cell) for cell in row) for row in rows]
    numeric = [all(NUMBER.fullmatch(cell) for cell in column) for column in zip(*listed)] or [False] * len(head)
    rule = ["---:" if is_number else "---" for is_number in numeric]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *listed))


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;")
