"""A user's machine: the commands of a new environment, a home with nothing in it, a folder to work in."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from environment import NOTEBOOK, environment, wheel
from terminal import Terminal

Command = Callable[..., CompletedProcess[str]]


@pytest.fixture(scope="session")
def built() -> Path:
    return wheel()


@pytest.fixture(scope="session")
def user(built: Path) -> Path:
    """The commands of an environment that has the wheel and what it needs."""
    return environment("user", [f"{built}[fast]"])


@pytest.fixture(scope="session")
def notebook(built: Path) -> Path:
    """The commands of an environment with Jupyter and data frames beside the wheel."""
    return environment("notebook", [f"{built}[fast]", *NOTEBOOK])


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a user who has never run it: no cache, no settings, no checkout on any path."""
    folder = tmp_path_factory.mktemp("home")
    kept = ("PATH", "LANG", "LC_ALL", "PIP_INDEX_URL", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"HOME": str(folder)}


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the user works in, from the first command to the last."""
    return tmp_path_factory.mktemp("desk")


@pytest.fixture
def corpusmill(user: Path, home: dict[str, str], desk: Path) -> Command:
    """The command line without a terminal: corpusmill("check", "web.yaml"). It never ends in a traceback."""

    def command(*words: object, status: int | None = 0) -> CompletedProcess[str]:
        line = [str(user / "corpusmill"), *map(str, words)]
        done = subprocess.run(line, cwd=desk, env=home, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        assert status is None or done.returncode == status, f"{line}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return command


@pytest.fixture
def terminal(user: Path, home: dict[str, str], desk: Path) -> Callable[..., Terminal]:
    """The command line in a terminal: with terminal("demo", columns=80) as shown: …"""

    def start(*words: object, columns: int = 100, rows: int = 40) -> Terminal:
        return Terminal([user / "corpusmill", *map(str, words)], cwd=desk, env=home, columns=columns, rows=rows)

    return start
