"""Environments as users have them: new, with the wheel of this checkout and nothing of its folders."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build" / "hands"
# What people have in the environment of a notebook.
NOTEBOOK = ("ipykernel", "nbconvert", "pandas", "polars", "datasets")


def wheel() -> Path:
    """The wheel of this checkout, built anew."""
    folder = PLACE / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    _call([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT])
    (built,) = folder.glob("corpusmill-*.whl")
    return built


def environment(name: str, packages: Sequence[str | Path]) -> Path:
    """The folder of commands of a new environment with these packages, in the newest versions that fit."""
    folder = PLACE / name
    shutil.rmtree(folder, ignore_errors=True)
    _call([sys.executable, "-m", "venv", folder])
    python = folder / "bin" / "python"
    _call([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
    return folder / "bin"


def _call(command: Sequence[str | Path]) -> None:
    subprocess.run(command, check=True)
