"""The state of the git repository that a file is in."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpusmill.store.units import now

GIT_SECONDS = 2.0  # seconds for all questions about one file


def git_state(path: str | os.PathLike[str], shown: Callable[[str], str] = str) -> dict[str, Any] | None:
    """Of the repository that a file is in: None if it is in none, git is not installed or does not answer in time.

    commit    that is checked out
    dirty     whether anything that the repository tracks was changed since, or the file is not tracked; None if git
              has not said so in time
    tracked   whether the repository has the file
    path      the file's path in the repository
    remote    URL of `origin`, as `shown` gives it; None if there is no such remote

    Nothing is written.
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
        changed = ask("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")
    except (OSError, ValueError, RuntimeError):
        return None
    tracked = bool(inside)
    return {
        "commit": commit,
        "dirty": True if not tracked else None if changed is None else bool(changed),
        "tracked": tracked,
        "path": shown(inside or f"{prefix}{file.name}"),
        "remote": shown(remote) if remote else None,
    }


class _Questions:
    """Asks git about a folder, with a limit on the time of all answers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._until = now() + GIT_SECONDS
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self._env |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}

    def __call__(self, *words: str) -> str | None:
        """The answer; None where git refuses one, or takes too long."""
        time = self._until - now()
        if time <= 0:
            return None
        settings = ["-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "--literal-pathspecs"]
        command = ["git", "-C", str(self._folder), *settings, *words]
        try:
            answer = subprocess.run(
                command, capture_output=True, check=False, timeout=time, env=self._env, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            return None
        return answer.stdout.decode("utf-8", "replace").strip() if answer.returncode == 0 else None
