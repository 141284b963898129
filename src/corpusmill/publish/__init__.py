"""A finished run as a data set of the Hugging Face Hub: a card, and Parquet files as the Hub lays them out.

README.md                          the card: metadata that the Hub reads, and where the documents come from
croissant.json                     the same for machines
recipe.yaml                        the recipe, without the folders of this machine
data/train-00000-of-00012.parquet  the default configuration
tokens/train-00000-of-00003.parquet  another one, named for the output that it is
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpusmill.assets import hub
from corpusmill.errors import AssetError, InputError
from corpusmill.publish import eu_summary as eu
from corpusmill.publish.croissant import croissant
from corpusmill.publish.folder import as_written, chosen_outputs, lay_out
from corpusmill.publish.published_run import PublishedRun
from corpusmill.publish.readme import MARK, dataset_card, portable
from corpusmill.publish.upload import uploader
from corpusmill.report.tables import RunTables
from corpusmill.storage import exists, read_bytes
from corpusmill.store.output import has_pushed, is_card_file, will_push, write_card_file
from corpusmill.store.run_folder import HUB, RunFolder

CARD, CROISSANT, EU_SUMMARY = "README.md", "croissant.json", "eu-summary.md"
RECIPE = "recipe.yaml"


@dataclass(frozen=True)
class Pushed:
    """What was pushed, or would be.

    url      of the data set; None of a dry run
    folder   all of it, on this machine
    files    in it, relative to it, with `/`
    bytes    of all of them
    sent     how many were sent now; the others were there
    """

    url: str | None
    folder: Path
    files: tuple[str, ...]
    bytes: int
    sent: int


def push(
    source: str | os.PathLike[str],
    target: str,
    *,
    revision: str | None = None,
    private: bool = False,
    license: str | None = None,
    outputs: Sequence[str] = (),
    dry_run: bool = False,
    progress: Callable[[str], None] = lambda line: None,
) -> Pushed:
    """Push a finished run to the Hub as a data set: its Parquet outputs, and a card made of what the run recorded.

    source     a run on a local disk
    target     hf://datasets/ME/NAME, or hf://datasets/ME/NAME@BRANCH
    revision   the branch, made if it is not there; "main" if not given
    private    make a new repository private; one that exists is left as it is
    license    for the card, as the Hub names it: "odc-by", "cc-by-4.0"
    outputs    of the run, by name; all of Parquet if not given, or `jsonl` where there are none
    dry_run    make the folder, and ask nobody
    progress   is called with a line for people

    The files are links to those of the run, in RUN/hub; JSON Lines is converted. Files that the repository has are not
    sent again, so the same call goes on where one stopped; shards of an earlier push that this one lacks are removed. A
    card whose first line somebody has removed is left alone. Raises InputError if the run cannot be pushed, or if the
    Hub refuses; MissingExtraError without huggingface_hub; StorageError if the Hub cannot be reached, or breaks off.
    """
    repo = target_repo(target, revision)
    tables = RunTables(source)
    tables.files.must_be_finished()
    run = RunFolder.at(source)
    folder, names = run.path / HUB, chosen_outputs(run, outputs)
    send = None if dry_run else uploader(repo, private)  # says what is missing before anything is written
    configs = lay_out(run, tables, folder, names, progress)
    published = PublishedRun(tables, license)
    texts = {
        RECIPE: portable(tables.files),
        CROISSANT: croissant(published, configs, repo),
        CARD: dataset_card(published, configs, repo),
    }
    files = will_push(run, [*has_pushed(run), *texts])
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8", newline="\n")
    size = sum((folder / name).stat().st_size for name in files)
    if send is None:
        return Pushed(None, folder, files, size, 0)
    url, sent = send(folder, files, progress)
    return Pushed(url, folder, files, size, sent)


def card(
    source: str | os.PathLike[str] | RunFolder,
    *,
    license: str | None = None,
    eu_summary: bool = False,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, tuple[str, int]]:
    """Write the data card of a finished run into its folder: README.md with a YAML head, and croissant.json. The folder
    can then be loaded as a data set, `load_dataset(folder, "jsonl")`.

    license      as the Hub names it: "odc-by", "cc-by-4.0"; the card says so if it is not known
    eu_summary   also draft the public summary of training content that the EU asks of providers of models: what the run
                 knows is filled in, the rest is marked for a person. This is no legal advice
    progress     is called with a line for people

    Returns name -> (place, bytes) of the files. Files that somebody has edited, and a README.md without its first line,
    are left alone. Raises InputError if there is no run; ResumeError if it is not finished.
    """
    tables = RunTables(source)
    tables.files.must_be_finished()
    run, published = tables.files.folder, PublishedRun(tables, license)
    configs = as_written(run, tables)
    texts = {CARD: dataset_card(published, configs, None), CROISSANT: croissant(published, configs, None)}
    if eu_summary:
        texts |= {EU_SUMMARY: eu.eu_summary(published), eu.DOMAINS_FILE: eu.domains_csv(published)}
    card_path = run.name_of(CARD)
    if exists(card_path) and MARK not in read_bytes(card_path).decode("utf-8", "replace"):
        progress(f"{card_path} was edited, and is left as it is")
        del texts[CARD]
    for name in [name for name in texts if name != CARD and not is_card_file(run, name)]:
        progress(f"{run.name_of(name)} is not as this run has written it, and is left as it is")
        del texts[name]
    for name, text in texts.items():
        write_card_file(run, name, text)
    return {name: (run.name_of(name), len(text.encode())) for name, text in texts.items()}


def target_repo(target: str, revision: str | None = None) -> hub.Repo:
    """The repository that is pushed to. Raises InputError if this is no name of a data set.

    >>> target_repo("hf://datasets/me/name", "v2")
    Repo(kind='dataset', name='me/name', revision='v2')
    """
    form = f"{hub.HUB_SCHEME}datasets/ME/NAME"
    if not target.startswith(hub.HUB_SCHEME):
        hint = f"; did you mean {hub.HUB_SCHEME}datasets/{target}?" if hub.REPO_NAME.fullmatch(target) else "."
        raise InputError(f'cannot push to "{target}"{hint} A data set of the Hub is written {form}.')
    try:
        repo, path = hub.parse(target)
    except AssetError as error:
        raise InputError(f"{target}: names no data set of the Hub. Write {form}, with your name or that of an "
                         "organization as ME.") from error  # fmt: skip
    if repo.kind != "dataset":
        raise InputError(f"{target}: is a model; a data set is {hub.HUB_SCHEME}datasets/{repo.name}.")
    if path:
        raise InputError(f"{target}: is a file of a data set; push to the whole, {hub.HUB_SCHEME}datasets/{repo.name}.")
    if revision is not None and repo.revision not in (hub.MAIN_REVISION, revision):
        raise InputError(f"{target}: names the revision {repo.revision}, and --revision {revision}; give one of them.")
    return hub.Repo("dataset", repo.name, revision or repo.revision)
