"""Sending a folder to the Hub: what is not there yet, in commits of bounded size."""

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corpusmill.assets.hub import HUB_SCHEME, MAIN_REVISION, TRUE_VALUES, Repo
from corpusmill.errors import CorpusmillError, InputError, StorageError
from corpusmill.publish.readme import MARK
from corpusmill.report.numbers import number, size
from corpusmill.retry import http_status, is_unreachable
from corpusmill.shards.layout import SPLITS
from corpusmill.store.sums import sha256

# The Hub asks for 50 to 100 files in a commit at most. What a commit has sent need not be sent again.
COMMIT_FILES = 50
COMMIT_BYTES = 10_000_000_000
CARD = "README.md"
SHARD_NAME = re.compile(rf"([^/]+)/(?:{'|'.join(SPLITS)})-\d{{5}}-of-\d{{5}}\.parquet")
LOG_IN = (
    "Make a token that may write at https://huggingface.co/settings/tokens, and give it: `hf auth login`, or HF_TOKEN=…"
)

Send = Callable[[Path, Sequence[str], Callable[[str], None]], tuple[str, int]]


def uploader(repo: Repo, private: bool) -> Send:
    """What sends a folder, its files and a line of progress now and then: it returns the URL and how many were sent.

    Raises InputError or StorageError if nothing can be sent: now, before there is a folder.
    """
    from huggingface_hub import HfApi, get_token

    if os.environ.get("HF_HUB_OFFLINE", "").lower() in TRUE_VALUES:
        raise InputError("HF_HUB_OFFLINE is set, so nothing can be pushed. Unset it, or look at the folder: --dry-run.")
    if get_token() is None:
        raise InputError(f"there is no token for the Hugging Face Hub. {LOG_IN}")
    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
    with _explained(repo):
        api.whoami()

    def send(folder: Path, files: Sequence[str], progress: Callable[[str], None]) -> tuple[str, int]:
        with _explained(repo):
            url = api.create_repo(repo.name, repo_type="dataset", private=private or None, exist_ok=True)
            if repo.revision != MAIN_REVISION:
                api.create_branch(repo.name, branch=repo.revision, repo_type="dataset", exist_ok=True)
            remote = {
                entry.path: entry
                for entry in api.list_repo_tree(repo.name, recursive=True, revision=repo.revision, repo_type="dataset")
                if hasattr(entry, "blob_id")  # no folder
            }
            ours = CARD not in remote or MARK in _text_of(api, repo, CARD)
        stale = _stale(repo, files, remote, ours)
        new = [name for name in files if not _is_there(folder / name, remote.get(name))]
        if CARD in new and not ours:
            progress(f"{CARD} on the Hub was edited, and is left as it is")
            new.remove(CARD)
        _send(api, repo, folder, new, stale, progress)
        tree = f"/tree/{repo.revision}" * (repo.revision != MAIN_REVISION)
        return f"{url}{tree}", len(new)

    return send


def _send(
    api: Any, repo: Repo, folder: Path, new: Sequence[str], stale: Sequence[str], progress: Callable[[str], None]
) -> None:
    """Shards first; the card and what is removed in the last commit."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    total = sum((folder / name).stat().st_size for name in new)
    commits = list(_commits(folder, [name for name in new if SHARD_NAME.fullmatch(name)]))
    others = [name for name in new if not SHARD_NAME.fullmatch(name)]
    if others or stale:
        commits.append(others)
    files = sent = 0
    for at, names in enumerate(commits):
        removed = stale if at == len(commits) - 1 else ()
        operations: list[Any] = [CommitOperationAdd(name, folder / name) for name in names]
        operations += [CommitOperationDelete(name) for name in removed]
        message = f"corpusmill push ({at + 1} of {len(commits)})"
        with _explained(repo, f" {number(files)} of {number(len(new))} files were sent."):
            api.create_commit(
                repo.name, operations, commit_message=message, repo_type="dataset", revision=repo.revision
            )
        files, sent = files + len(names), sent + sum((folder / name).stat().st_size for name in names)
        progress(f"{number(files)} of {number(len(new))} files, {size(sent)} of {size(total)}")


def _commits(folder: Path, names: Sequence[str]) -> Iterator[list[str]]:
    part: list[str] = []
    part_bytes = 0
    for name in names:
        bytes_ = (folder / name).stat().st_size
        if part and (len(part) == COMMIT_FILES or part_bytes + bytes_ > COMMIT_BYTES):
            yield part
            part, part_bytes = [], 0
        part, part_bytes = [*part, name], part_bytes + bytes_
    if part:
        yield part


def _is_there(path: Path, entry: Any) -> bool:
    """Whether the Hub has a file with these bytes under this name."""
    if entry is None or entry.size != path.stat().st_size:
        return False
    if entry.lfs is not None:
        return bool(entry.lfs.sha256 == sha256(path))
    data = path.read_bytes()
    return bool(entry.blob_id == hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest())


def _stale(repo: Repo, files: Sequence[str], remote: Sequence[str] | dict[str, Any], ours: bool) -> list[str]:
    """Shards of an earlier push that are in a folder of this one and not in this push: they would be read with it.

    Raises InputError if they are there and somebody else's, as the card is not ours.
    """
    folders = {match[1] for name in files if (match := SHARD_NAME.fullmatch(name))}
    others = sorted(
        name for name in remote if (match := SHARD_NAME.fullmatch(name)) and match[1] in folders and name not in files
    )
    if others and not ours:
        raise InputError(
            f"{HUB_SCHEME}{repo}: has {number(len(others))} files that this push does not, which would be read with "
            f"it, as {others[0]}; and its card is not one of corpusmill push, so nothing is removed. Push to another "
            "name or --revision, or remove them: "
            f'hf repos delete-files {repo.name} "{others[0].partition("/")[0]}/*-of-*.parquet" '
            f"--type dataset"
        )
    return others


def _text_of(api: Any, repo: Repo, name: str) -> str:
    with tempfile.TemporaryDirectory() as cache:
        path = api.hf_hub_download(repo.name, name, repo_type="dataset", revision=repo.revision, cache_dir=cache)
        return Path(path).read_text("utf-8", "replace")


@contextmanager
def _explained(repo: Repo, progress: str = "") -> Iterator[None]:
    """What the Hub's library raises as an error that says what to do.

    progress   what of the work is done, if some of it may be
    """
    try:
        yield
    except CorpusmillError:
        raise
    except Exception as error:
        status = http_status(error)
        name = f"{HUB_SCHEME}{repo}"
        if status == 401:
            raise InputError(f"{name}: the Hub does not accept the token. {LOG_IN}") from error
        if status in (402, 403):
            raise InputError(
                f"{name}: this token may not write. It needs the right to write, and {repo.name.partition('/')[0]} "
                f"has to be you or an organization of yours (`hf auth whoami`). {LOG_IN}"
            ) from error
        if status is not None:
            problem = f"answers with an error ({status})"
        else:
            problem = "cannot be reached" if is_unreachable(error) else "did not take all of it"
        cause = error.__cause__ or error
        message = next(iter(str(cause).splitlines()), "").rstrip(".")
        raise StorageError(
            f"{name}: the Hub {problem}: {type(cause).__name__}: {message}.{progress} Run the same command again: what "
            "is there is not sent again. Without a network, `--dry-run` makes the folder."
        ) from error
