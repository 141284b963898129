"""Keep runs of this version for the tests of all later ones: PYTHONPATH=src:tests python scripts/keep_run.py

Once a version, before its release. Writes tests/data/kept/VERSION.tar.xz, and VERSION.json, what was seen of them.
"""

import json
import os
import sys
import tarfile
import tempfile
from pathlib import Path

from corpusmill import __version__
from corpusmill.ops.provenance.machine import HOST_VARIABLE
from kept_runs import KEPT, make, observed
from made_model_server import ModelServer

WHOLE_SECONDS = 1_700_000_000  # of the files: an archive keeps no fractions, and a run knows its input by its date


def keep(folder: Path) -> None:
    archive, seen = (KEPT / f"{__version__}{ending}" for ending in (".tar.xz", ".json"))
    if archive.exists():
        sys.exit(f"{archive} is there: what a version has left is never replaced")
    os.environ[HOST_VARIABLE] = ""
    os.environ["PATH"] = ""  # without git: the records would have this machine's repository
    sys.argv = ["corpusmill", "run", "kept.yaml"]
    with ModelServer() as server:
        os.environ["SERVER"] = server.url
        make(folder, WHOLE_SECONDS)
    files = sorted(path for path in folder.rglob("*") if path.name != "report.html")  # half a megabyte, made anew
    KEPT.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for path in files:
            tar.add(path, path.relative_to(folder).as_posix(), recursive=False, filter=nobody)
    seen.write_text(json.dumps(observed(folder), indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"{archive}: {archive.stat().st_size / 1000:.0f} kB")


def nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        keep(Path(temporary))
