"""The state of the git repository that a file is in."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from corpusmill.store.units import now

GIT_SECONDS = 2.0  # seconds for all questions about one file
# A repository's own configuration can name commands: hooks, a monitor of files, filters of contents, and how what is
# missing is fetched. None of them is run.
SETTINGS = ["core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.quotePath=false",
            "safe.bareRepository=explicit"]  # fmt: skip
SURROUNDINGS = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1",
                "GIT_ALLOW_PROTOCOL": "none", "LC_ALL": "C"}  # fmt: skip


def git_state(path: str | os.PathLike[str], shown: Callable[[str], str] = str) -> dict[str, Any] | None:
    """Of the repository that a file is in: None if it is in none, git is not installed, refuses (as where another user
    owns the repository) or does not answer in time.

    commit    that is checked out
    dirty     whether anything that the repository tracks was changed since, or the file is not tracked; None if git
              has not said so in time, or a filter of contents (Git LFS) would have to say it
    tracked   whether the repository has the file
    path      the file's path in the repository
    remote    URL of `origin`, as `shown` gives it; None if there is no such remote

    Nothing is written, and no command is run that the repository names.
    """
    file = Path(path)
    try:
        file = file.resolve()
        if not file.is_file() or not any((folder / ".git").exists() for folder in file.parents):
            return None
        ask = _Questions(file.parent)
        head = ask("rev-parse", "--show-prefix", "HEAD")
        if head is None:
            return None
        prefix, _, commit = head.rpartition("\n")
        inside = ask("ls-files", "--full-name", "--", file.name)
        remote = ask("config", "--get", "remote.origin.url")
        changed = _is_changed(ask)
    except (OSError, ValueError, RuntimeError):
        return None
    tracked = bool(inside)
    return {
        "commit": commit,
        "dirty": changed if tracked else True,
        "tracked": tracked,
        "path": shown(inside or f"{prefix}{file.name}"),
        "remote": shown(remote) if remote else None,
    }


def _is_changed(ask: "_Questions") -> bool | None:
    """Whether tracked files are other than those of the commit; None where only a filter of contents could say it."""
    names = ask("config", "-z", "--name-only", "--list")
    if names is None:
        return None
    filters = {name.rpartition(".")[0] for name in names.split("\0") if name.startswith("filter.")}
    if any("=" in name for name in filters):  # which no setting can switch off
        return None
    off = [f"{name}.{key}" for name in sorted(filters) for key in ("clean=", "smudge=", "process=", "required=false")]
    changed = ask("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all", settings=off)
    return None if changed is None or (changed and filters) else bool(changed)


class _Questions:
    """Asks git about a folder, with a limit on the time of all answers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._until = now() + GIT_SECONDS
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self._env |= SURROUNDINGS

    def __call__(self, *words: str, settings: Sequence[str] = ()) -> str | None:
        """The answer; None where git refuses one, or takes too long."""
        time = self._until - now()
        if time <= 0:
            return None
        given = [part for setting in (*SETTINGS, *settings) for part in ("-c", setting)]
        command = ["git", "-C", str(self._folder), *given, "--literal-pathspecs", *words]
        try:
            answer = subprocess.run(
                command, capture_output=True, check=False, timeout=time, env=self._env, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            return None
        return answer.stdout.decode("utf-8", "replace").strip() if answer.returncode == 0 else None
