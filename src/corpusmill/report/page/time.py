"""When, where and how fast: the only section, with the line below the title, that differs between two runs of a recipe
on the same input."""

from collections.abc import Sequence

from corpusmill.report.figures.calls import Calls, calls, calls_table, git_in_words, machine_in_words
from corpusmill.report.figures.resources import StageResources, resources, resources_table
from corpusmill.report.html.charts import BarRow, bars
from corpusmill.report.html.markup import HtmlText, Inside, table, tag
from corpusmill.report.html.paths import without_folders
from corpusmill.report.html.svg import bar
from corpusmill.report.numbers import duration, size
from corpusmill.report.tables import RunTables


def section(tables: RunTables) -> list[Inside]:
    stages = resources(tables)
    if not stages:
        return []
    note = (
        "Worker time is summed over all workers, in the calls that did the work. CPU: processor time as a share "
        "of worker time. Documents and text are the input of the stage, per second of worker time; before "
        "extraction, text is HTML. Memory is the peak of a worker during a unit; where the system cannot measure "
        "that, since the worker started."
    )
    parts: list[Inside] = [charts(stages), table(*resources_table(stages)), tag("p", note, class_="note")]
    if run_calls := calls(tables):
        parts += [tag("h3", "Machine and software"), facts(tables, run_calls), *of_calls(run_calls)]
    return parts


def charts(stages: Sequence[StageResources]) -> HtmlText:
    """Worker time and memory, a bar per stage."""
    spent = [
        BarRow(stage.stage, [("worker time", stage.seconds, duration(stage.seconds))], words(stage)) for stage in stages
    ]
    figures = [drawn("Worker time by stage", spent, "worker time", "worker time in seconds")]
    memory_by_stage = [(stage.stage, stage.memory) for stage in stages if stage.memory]
    if memory_by_stage:
        rows = [BarRow(name, [("peak memory", memory, size(memory))], size(memory)) for name, memory in memory_by_stage]
        figures.append(drawn("Peak memory of a worker by stage", rows, "peak memory", "peak memory in bytes", "B"))
    return tag("div", *figures, class_="two")


def words(stage: StageResources) -> str:
    return f"{duration(stage.seconds)} · {100 * stage.share:.1f} %"


def drawn(title: str, rows: Sequence[BarRow], series: str, axis: str, unit: str = "") -> HtmlText:
    maximum = max(value for row in rows for _, value, _ in row.parts) or 1.0
    parts: list[HtmlText] = []
    for row in rows:
        ((_, value, shown),) = row.parts
        chart_bar = bar([(100 * value / maximum, "kept", f"{row.name}: {shown}")], f"{row.name}: {shown}")
        parts += [tag("div", row.name), chart_bar, tag("div", row.words, class_="value")]
    still = tag("div", *parts, class_="ranks")
    return tag("figure", tag("h4", title), bars(still, rows, label=f"{series} by stage", axis=axis, unit=unit))


def facts(tables: RunTables, run_calls: Calls) -> Inside:
    """Names and values, of the last call that did something."""
    call = run_calls.last
    git = call.get("git") or {}
    versions = ", ".join(f"{name} {version}" for name, version in tables.files.versions.items())
    rows = [
        ("host", call["machine"].get("host")),
        ("machine", machine_in_words(call["machine"])),
        ("workers", f"{call['workers']} ({call['executor']})"),
        ("compiling kernels", duration(call["compile_seconds"]) if (call.get("compile_seconds") or 0) >= 1 else None),
        ("recipe in git", git_in_words(git.get("recipe"))),
        ("corpusmill in git", git_in_words(git.get("corpusmill"))),
        ("versions", versions),
    ]
    return table(["", ""], [[name, without_folders(value)] for name, value in rows if value], words=(0, 1))


def of_calls(run_calls: Calls) -> list[Inside]:
    """The calls, where there are two or more."""
    if len(run_calls.calls) < 2:
        return []
    words = f"{len(run_calls.calls)} calls did the work of this run, {duration(run_calls.seconds)} in total"
    if run_calls.lost:
        words += f", without {run_calls.lost} that recorded no end"
    head, rows = calls_table(run_calls)
    return [tag("h3", "Calls"), tag("p", f"{words}."), table(head, rows, words=(0, 1, 5, 6, 7))]
