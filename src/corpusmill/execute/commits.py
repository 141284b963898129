"""The folder of a stage: its plan, its commits, its failures. Everything in it is created once.

NN-stage-FINGERPRINT/
    plan.json              the units
    commits/00042.json     unit 42 is done: its outputs, counts, checksums
    failed/00042.json      it failed in every attempt: error and traceback
    docs/ signals/ …       files named unit-attempt; only those that a commit names count
"""

import errno
import json
import os
import shutil
import traceback
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpusmill.errors import ResumeError, StorageError
from corpusmill.storage import create_once, fsync_dir
from corpusmill.units import Commit, Unit, UnitIO, Work, now


@dataclass(frozen=True)
class StageFolder:
    root: Path  # the run's folder
    name: str  # the stage's folder in it

    @property
    def path(self) -> Path:
        return self.root / self.name

    def plan(self, units: list[Unit]) -> None:
        """Record the plan, or check that the recorded one is the same.

        Raises ResumeError if it is not: then an input changed after its size and date were noted.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        plan = json.dumps({"units": [[u.number, list(u.inputs)] for u in units]}, default=_plain, indent=0).encode()
        if not create_once(str(self.path / "plan.json"), plan) and (self.path / "plan.json").read_bytes() != plan:
            raise ResumeError(
                f"{self.path}: the units to do are not those that were planned here; an input or an earlier stage "
                f"changed while the run was stopped. Remove this folder to do the stage again, or use a new run folder."
            )

    def commits(self) -> dict[int, Commit]:
        """The units that are done and whose outputs are there."""
        found = {}
        for path in sorted((self.path / "commits").glob("*.json")):
            commit = Commit.from_json(json.loads(path.read_bytes()))
            for output in commit.outputs.values():
                file = self.root / output.path
                if not file.exists() or file.stat().st_size != output.bytes:
                    size = file.stat().st_size if file.exists() else "nothing"
                    raise ResumeError(
                        f"{file}: {path.name} says {output.bytes} bytes, found {size}. The run folder was changed by "
                        f"another hand; remove {path} to do this unit again."
                    )
            found[commit.unit] = commit
        return found

    def commit(self, commit: Commit) -> bool:
        """Make a unit count. False if another attempt was first: then this one's files are orphans."""
        folder = self.path / "commits"
        folder.mkdir(parents=True, exist_ok=True)
        for parent in {(self.root / output.path).parent for output in commit.outputs.values()}:
            fsync_dir(str(parent))
        record = json.dumps(commit.to_json(), sort_keys=True).encode()
        return create_once(str(folder / f"{commit.unit:05d}.json"), record)

    def fail(self, unit: int, error: str, trace: str) -> None:
        folder = self.path / "failed"
        folder.mkdir(parents=True, exist_ok=True)
        record = json.dumps({"unit": unit, "error": error, "traceback": trace}, indent=1)
        (folder / f"{unit:05d}.json").write_text(record, "utf-8")

    def forget_failures(self) -> None:
        shutil.rmtree(self.path / "failed", ignore_errors=True)

    def tidy(self) -> None:
        """Remove the files that no commit names. Only when no worker is at work on the stage."""
        named = {self.root / output.path for commit in self.commits().values() for output in commit.outputs.values()}
        for folder in self.path.iterdir():
            if folder.is_dir() and folder.name == "tmp":
                shutil.rmtree(folder, ignore_errors=True)
            elif folder.is_dir() and folder.name not in ("commits", "failed"):
                for file in folder.iterdir():
                    if file not in named:
                        file.unlink()


def run_unit(root: Path, stage: str, work: Work, unit: Unit) -> Commit:
    """Carry out one unit and commit it: the one function that every executor calls, wherever it runs.

    If another attempt has committed the unit first, that commit is returned.
    Raises what the work raises; StorageError if the disk is full.
    """
    io = UnitIO(root, stage, unit.number, uuid.uuid4().hex[:8])
    started = now()
    try:
        work.run(unit, io)
        outputs = io.finish()
        for output in outputs.values():
            _sync(root / output.path)
        facts = json.loads(json.dumps(io.facts, sort_keys=True))  # as they will be read back, order of keys and all
        commit = Commit(unit.number, io.attempt, outputs, facts, round(now() - started, 3))
        folder = StageFolder(root, stage)
        if not folder.commit(commit):
            won = json.loads((folder.path / "commits" / f"{unit.number:05d}.json").read_bytes())
            commit = Commit.from_json(won)
    except OSError as error:
        io.abandon()
        if error.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error):
            raise StorageError(disk_full(root)) from error
        raise
    except BaseException:
        io.abandon()
        raise
    shutil.rmtree(root / stage / "tmp" / f"{unit.number:05d}-{io.attempt}", ignore_errors=True)
    return commit


def disk_full(root: Path) -> str:
    free = shutil.disk_usage(root).free
    return (
        f"{root}: the disk is full ({free >> 20} MiB free). What is committed is safe: make room, "
        f"or move the folder to a larger disk, and run the same command again."
    )


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def last_line(error: BaseException) -> str:
    """`ValueError: …`, as the end of a traceback says it; of a longer message, its first line."""
    return traceback.format_exception_only(error)[-1].strip().partition("\n")[0]


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a unit's inputs must be plain data, got {type(value).__name__}")
