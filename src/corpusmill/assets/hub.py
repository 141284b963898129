"""Repositories of the Hugging Face hub: how they are named, the cache on this machine, and downloads into it.

    hf://org/name@revision/path           of a model
    hf://datasets/org/name@revision/path  of a data set

The cache is the one that huggingface_hub keeps, so its files are those that `hf download` puts there: below
$HF_HUB_CACHE, or $HF_HOME/hub, or ~/.cache/huggingface/hub, a folder for each repository,

    models--org--name/refs/main                   the commit that this revision was at the last download
    models--org--name/snapshots/COMMIT/path       the files of a commit

The cache is looked at first, and the hub is asked only for what is not in it. So a run needs no network once its files
are there, and a revision that moves on the hub does not move here until somebody downloads it again.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from corpusmill.errors import AssetError
from corpusmill.retry import http_status, is_unreachable, may_pass, patiently

HUB_SCHEME = "hf://"
MAIN_REVISION = "main"
REPO_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
REVISION_NAME = re.compile(r"refs/(?:convert|pr)/[\w.-]+|[^/@]+")  # one with slashes is known by its beginning
HUB_TIMEOUT = 10.0  # seconds that one question to the hub may take
TRUE_VALUES = ("1", "true", "yes", "on")


@dataclass(frozen=True)
class Repo:
    """A repository at a revision: a branch, a tag or a commit."""

    kind: Literal["model", "dataset"]
    name: str  # org/name
    revision: str = MAIN_REVISION

    def __str__(self) -> str:
        """As in a URL, without the scheme.

        >>> str(Repo("dataset", "org/name")), str(Repo("model", "org/name", "v1"))
        ('datasets/org/name', 'org/name@v1')
        """
        revision = f"@{self.revision}" * (self.revision != MAIN_REVISION)
        return f"{'datasets/' * (self.kind == 'dataset')}{self.name}{revision}"

    @property
    def folder(self) -> Path:
        """Its folder in the cache."""
        return cache_folder() / f"{self.kind}s--{self.name.replace('/', '--')}"


@dataclass(frozen=True)
class Snapshot:
    """The files of one commit of a repository, as far as they are in the cache."""

    commit: str
    folder: Path


def parse(url: str) -> tuple[Repo, str]:
    """The repository that a URL names, and the path in it, which may be empty.

    Raises AssetError if it names none.

    >>> parse("hf://datasets/org/name@refs/convert/parquet/default/train")
    (Repo(kind='dataset', name='org/name', revision='refs/convert/parquet'), 'default/train')
    >>> parse("hf://org/name/a.bin")
    (Repo(kind='model', name='org/name', revision='main'), 'a.bin')
    """
    remainder = url.removeprefix(HUB_SCHEME)
    kind: Literal["model", "dataset"] = "dataset" if remainder.startswith("datasets/") else "model"
    remainder = remainder.removeprefix("datasets/").removeprefix("models/")
    if (name := REPO_NAME.match(remainder)) is not None:
        remainder = remainder[name.end() :]
        if not remainder or remainder[0] == "/":
            return Repo(kind, name[0]), remainder.strip("/")
        if remainder[0] == "@" and (revision := REVISION_NAME.match(remainder[1:].replace("%2F", "/"))) is not None:
            path = remainder[1:].replace("%2F", "/")[revision.end() :]
            if not path or path[0] == "/":
                return Repo(kind, name[0], revision[0]), path.strip("/")
    raise AssetError(
        f"{url}: names no repository of the hub. Write {HUB_SCHEME}org/name/path for a file of a model, "
        f"{HUB_SCHEME}datasets/org/name for a data set, and @revision after the name for one of its revisions."
    )


def cache_folder() -> Path:
    """Where huggingface_hub keeps what it downloads; read from the environment at every call."""
    for variable, below in (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub")):
        if os.environ.get(variable):
            return Path(os.environ[variable]).expanduser() / below
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "huggingface" / "hub"


def cached(repo: Repo) -> Snapshot | None:
    """The snapshot of a repository's revision, None if there is none in the cache.

    A folder with one snapshot and without `refs`, as somebody may have copied it, has that one as its main revision.
    """
    snapshots = repo.folder / "snapshots"
    reference = repo.folder / "refs" / repo.revision
    commit = reference.read_text("utf-8").strip() if reference.is_file() else repo.revision
    if (snapshots / commit).is_dir():
        return Snapshot(commit, snapshots / commit)
    if repo.revision == MAIN_REVISION and not reference.exists() and snapshots.is_dir():
        folders = [folder for folder in sorted(snapshots.iterdir()) if folder.is_dir()]
        if len(folders) == 1:
            return Snapshot(folders[0].name, folders[0])
    return None


def locate(repo: Repo, names: Sequence[str], companions: Sequence[str] = ()) -> tuple[Snapshot, str]:
    """The first of the files `names` that the repository has, in the cache; downloaded into it if it has none.

    companions   downloaded with it, where the repository has them

    Raises AssetError if there is no such file, with what to fetch and where to put it.
    """
    for attempt in (False, True):
        if attempt:
            _download(repo, names, companions)
        if (snapshot := cached(repo)) is not None:
            for name in names:
                if (snapshot.folder / name).is_file():
                    return snapshot, name
    raise NotHere(repo, names, "the repository has no such file")


def commit_of(name: str) -> str:
    """The commit of the cached snapshot that an `hf://` name leads to now. Raises AssetError without one."""
    repo, path = parse(name)
    return locate(repo, [path])[0].commit


def info(repo: Repo, sizes: bool = False) -> Any:
    """What the hub says of a repository: `sha`, the commit of the revision, and `siblings`, its files.

    Raises Unreachable if it cannot be asked, or answers that there is no such repository.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in TRUE_VALUES:
        raise Unreachable("HF_HUB_OFFLINE is set, so that the hub is not asked")
    from huggingface_hub import HfApi  # tokenizers brings it

    # One question first: the downloads of huggingface_hub try again for half a minute where there is no network.
    hub = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
    try:
        return patiently(
            lambda: hub.repo_info(
                repo.name, repo_type=repo.kind, revision=repo.revision, timeout=HUB_TIMEOUT, files_metadata=sizes
            ),
            _may_pass,
        )
    except Exception as error:
        status = http_status(error)
        raise Unreachable(_why(error), status if status in (401, 403, 404) else None) from error


def _may_pass(error: Exception) -> bool:
    """Whether to ask again. Without a network there is nobody to wait for: the cache may have what is needed."""
    return may_pass(error) and not is_unreachable(error)


class Unreachable(Exception):
    """The hub did not answer, or has no such thing: why, in words for a message.

    status   of its answer: 401, 403 or 404; None if it gave none of these
    """

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


def _download(repo: Repo, names: Sequence[str], companions: Sequence[str]) -> None:
    try:
        available = {file.rfilename for file in info(repo).siblings or ()}
    except Unreachable as error:
        raise NotHere(repo, names, str(error)) from error
    first = next((name for name in names if name in available), None)
    if first is None:
        listing = ", ".join(sorted(available)[:10]) or "nothing"
        raise AssetError(f"{repo}: the repository has no file {' or '.join(names)}. It has: {listing}")
    from huggingface_hub import hf_hub_download

    for name in (first, *(name for name in companions if name in available)):
        download = partial(
            hf_hub_download,
            repo.name,
            name,
            repo_type=repo.kind,
            revision=repo.revision,
            cache_dir=cache_folder(),
            etag_timeout=HUB_TIMEOUT,
            endpoint=os.environ.get("HF_ENDPOINT"),
        )
        try:
            patiently(download, _may_pass)
        except Exception as error:
            raise NotHere(repo, [name], _why(error)) from error


def _why(error: Exception) -> str:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "GatedRepoError" in kinds:
        return "the repository is gated, and the hub gave no access"
    if "RepositoryNotFoundError" in kinds:
        return "the hub has no such repository, or it is private"
    if "RevisionNotFoundError" in kinds:
        return "the repository has no such revision"
    detail = next(iter(str(error).splitlines()), "")
    host = os.environ.get("HF_ENDPOINT", "huggingface.co").partition("://")[2] or "huggingface.co"
    if http_status(error) in (401, 403):
        return f"the hub gave no access ({host}: {type(error).__name__}: {detail})"
    return f"the hub cannot be reached ({host}: {type(error).__name__}: {detail})"


class NotHere(AssetError):
    """Files of a repository are neither in the cache nor to be had from the hub. `why` is a part of a sentence."""

    def __init__(self, repo: Repo, files: Sequence[str], why: str) -> None:
        super().__init__(missing(repo, files, why))
        self.why = why


def missing(repo: Repo, files: Sequence[str], why: str) -> str:
    """The message for files that are neither in the cache nor to be had from the hub: what to fetch, and where to."""
    kind = " --repo-type dataset" * (repo.kind == "dataset")
    at = f" --revision {repo.revision}" * (repo.revision != MAIN_REVISION)
    return (
        f"{repo}: {' or '.join(files)} is not in the cache of the Hugging Face hub, {repo.folder}, and {why}. "
        f"Where there is a network: hf download {repo.name} {files[0]}{kind}{at} (`huggingface-cli download` in older "
        f"versions), and copy the folder {repo.folder.name} into {cache_folder()}. A gated repository also needs that "
        "you accept its terms on its page, and a token: hf auth login, or HF_TOKEN."
    )
