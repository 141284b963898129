"""How long questions take over a run of a million documents: what-if, explain, diff and sql, each as a process."""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import CRAWL, MB, Figure, Workload, row, table
from corpusmill.report.run_files import RunFiles
from corpusmill.schema import document_id
from corpusmill.store.run_folder import STAGES_RECORD, RunFolder
from corpusmill.store.tables import TableWriter
from corpusmill.store.units import Unit, UnitOutput

DOCUMENTS = 1_000_000
BAR = 2.0  # seconds, of a what-if


def run(workload: Workload, runs: int, scratch: Path) -> list[Figure]:
    """Wall seconds from the start of the process to its end, the files in the page cache."""
    scratch.mkdir(parents=True, exist_ok=True)
    folder = large_run(workload, scratch, DOCUMENTS)
    files = RunFiles(folder)
    paths = files.paths("signals", 0)
    rows, size = (
        sum(pq.read_metadata(path).num_rows for path in paths),
        sum(Path(path).stat().st_size for path in paths),
    )
    one = pq.read_table(paths[0], columns=["id"])["id"][0].as_py()
    print(
        f"## questions to a run of {rows:,} documents: {len(files.columns(0))} columns of signals in {len(paths)} "
        f"files, {size / MB:,.0f} MB; median of {runs}\n"
    )
    table("question", "wall s", "CPU s")
    # The recipe keeps those of at least 50 words, 5 sentences and a language score of 0.5.
    few = ["--set", "gopher_quality.min_words=30"]
    several = [*few, "--set", "c4.min_sentences=3", "--set", "language.min_score=0.4"]
    questions = {
        "what-if, a threshold of a step of 10 rules": ["what-if", str(folder), *few],
        "what-if, a threshold of a step of 13 rules": [
            *("what-if", str(folder)),
            *("--set", "gopher_repetition.max_top_2_gram_chars=0.1"),
        ],
        "what-if, thresholds of three steps": ["what-if", str(folder), *several],
        "explain, by id": ["explain", str(folder), one],
        "diff with itself": ["diff", str(folder), str(folder)],
        "sql, counts by step": ["sql", str(folder), "select dropped_by, count(*) from documents group by 1"],
    }
    figures = []
    for name, words in questions.items():
        ask(words)  # reads the files into the cache
        wall, cpu = (median(seconds) for seconds in zip(*(ask(words) for _ in range(runs))))
        figures.append(Figure(name, wall, "s", BAR if words[0] == "what-if" else None, "below"))
        row(name, f"{wall:.2f}", f"{cpu:.2f}")
    print()
    shutil.rmtree(scratch)
    return figures


def ask(words: list[str]) -> tuple[float, float]:
    """Wall seconds, and CPU seconds of all its threads."""
    command = [sys.executable, "-m", "corpusmill.cli", *words]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}")
    return wall, used.ru_utime + used.ru_stime


def large_run(workload: Workload, scratch: Path, documents: int) -> Path:
    """A run over the first file of the workload, whose first pass says that it had this many documents at least.

    Each unit of it holds the signals of the whole file under ids of its own, so that a file of signals is as large,
    and as hard to read, as one of a run over so many different documents. Texts are those of the one file.
    """
    folder = scratch / "run"
    (scratch / workload.files[0].name).symlink_to(workload.files[0].resolve())
    recipe = scratch / "recipe.yaml"
    recipe.write_text(Workload(scratch, (), 0, 0, "").recipe(CRAWL, "questions"), "utf-8")
    command = [sys.executable, "-m", "corpusmill.cli", "run", str(recipe), "--folder", str(folder)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    run = RunFolder(str(folder))
    stages = run.read(STAGES_RECORD)
    stage = run.stage(stages[0]["folder"])
    results = run.results()[stages[0]["stage"]]
    rows = pa.concat_tables(pq.read_table(folder / path) for path in results["signals"].paths.to_pylist())
    (rest,) = rows.drop(["id"]).combine_chunks().to_batches()
    names = rows["id"].to_pylist()
    template = stage.committed(results.keys[0])
    units = [Unit(number, f"{number:020x}", None) for number in range(-(-documents // len(rows)))]
    keys = [unit.key for unit in units]
    collected = stage.collect(keys)
    for unit in units:
        path = f"{stage.name}/signals/{unit.key}-{template.attempt}.parquet"
        ids = pa.array([document_id(str(unit.number), name) for name in names], pa.string())
        with TableWriter(folder / path, rows.schema) as writer:
            writer.write(pa.RecordBatch.from_arrays([ids, *rest.columns], schema=rows.schema))
        signals = UnitOutput(path, len(names), (folder / path).stat().st_size, "0" * 32)
        outputs = {"signals": signals}
        for kind, output in template.outputs.items():
            if kind != "signals":  # the same for all units
                outputs[kind] = replace(output, path=path.replace("/signals/", f"/{kind}/"))
                if not (folder / outputs[kind].path).exists():
                    os.link(folder / output.path, folder / outputs[kind].path)
        collected.add(replace(template, key=unit.key, outputs=outputs))
    plan = stage.plan(units)
    stage.finish(plan, collected, keys)
    run.write(STAGES_RECORD, [stages[0] | {"plan": plan}, *stages[1:]])
    return folder
