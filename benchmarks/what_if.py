"""How long questions take over a run of a million documents: what-if, explain, diff and sql.

    python benchmarks/what_if.py [--documents 1000000] [--folder DIR]

Run in the folder of the repository, where the demo is. The run is the demo's, with the signals of its first pass
repeated under new ids until there are enough; texts are not, and what-if and diff read none. Times are wall seconds
of a whole call in a process that has imported everything, best of three.
"""

import argparse
import json
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import corpusmill
from corpusmill.execute.commits import StageFolder
from corpusmill.execute.serial import Serial
from corpusmill.report.diff import diff
from corpusmill.report.explain import explain
from corpusmill.report.tables import RunTables
from corpusmill.report.views import sql
from corpusmill.report.what_if import what_if
from corpusmill.schema import document_id
from corpusmill.tables import TableWriter

UNITS = 32  # as many as 4 GB of input make


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the run is made, and kept")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="what-if-"))
    try:
        run = large_run(folder / "run", options.documents)
        show(run)
    finally:
        if options.folder is None:
            shutil.rmtree(folder)


def large_run(folder: Path, documents: int) -> Path:
    """The demo's run, its first pass with this many documents at least."""
    if (folder / "made.json").exists():
        return folder
    corpusmill.run("recipes/demo.yaml", folder=folder, executor=Serial())
    tables = RunTables(folder)
    stage = StageFolder(folder, tables.run["stages"][0])
    commits = stage.commits()
    rows = pa.concat_tables(pq.read_table(folder / c.outputs["signals"].path) for c in commits.values())
    repeats = -(-documents // (len(rows) * UNITS))
    template = json.dumps(commits[0].to_json())
    plan = json.loads((stage.path / "plan.json").read_bytes())["units"]
    shutil.rmtree(stage.path / "commits")
    (stage.path / "commits").mkdir()
    for unit in range(UNITS):
        path = stage.path / "signals" / f"{unit:05d}-large.parquet"
        with TableWriter(path, rows.schema) as writer:
            for copy in range(repeats):
                ids = pa.array([document_id(f"{unit}.{copy}", name) for name in rows["id"].to_pylist()])
                for batch in rows.set_column(0, "id", ids).combine_chunks().to_batches():
                    writer.write(batch)
        record = json.loads(template) | {"unit": unit}
        signals = {"path": path.relative_to(folder).as_posix(), "rows": repeats * len(rows), "checksum": ""}
        record["outputs"]["signals"] = signals | {"bytes": path.stat().st_size}
        (stage.path / "commits" / f"{unit:05d}.json").write_text(json.dumps(record))
    units = [[unit, plan[0][1]] for unit in range(UNITS)]
    (stage.path / "plan.json").write_text(json.dumps({"units": units}))
    (folder / "made.json").write_text("{}")
    return folder


def show(run: Path) -> None:
    tables = RunTables(run)
    size = sum(Path(path).stat().st_size for path in tables.paths("signals", 0))
    ((count, one),) = sql(tables, "select count(*), min(id) from signals_1").rows
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, {date.today()}")
    print(f"{count:,} documents, {len(tables.columns(0))} columns, {size / 1e6:.0f} MB of signals\n")
    questions: dict[str, Callable[[], Any]] = {
        "what-if, one rule": lambda: what_if(run, ["gopher_quality.min_words=200"]),
        "what-if, three steps": lambda: what_if(
            run, ["language.min_score=0.4", "gopher_quality.min_words=200", "c4.min_sentences=3"]
        ),
        "what-if, 13 rules of one step": lambda: what_if(run, ["gopher_repetition.max_top_2_gram_chars=0.1"]),
        "explain, by id": lambda: explain(run, one),
        "diff with itself": lambda: diff(run, run),
        "sql, counts by step": lambda: sql(RunTables(run), "select dropped_by, count(*) from documents group by 1"),
    }
    for name, ask in questions.items():
        print(f"  {name:<32}{best(ask):6.2f} s")


def best(ask: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        started = time.perf_counter()
        ask()
        times.append(time.perf_counter() - started)
    return min(times)


if __name__ == "__main__":
    main()
