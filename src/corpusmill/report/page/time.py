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
        "Worker time is that of all workers together, in the calls that did the work. CPU: processor time per worker "
        "time. Documents and text are those that came to the stage, per second of worker time; before extraction, text "
        "is HTML. Memory is what a worker had at most during a unit; where the system cannot tell, since the worker "
        "began."
    )
    parts: list[Inside] = [charts(stages), table(*resources_table(stages)), tag("p", note, class_="note")]
    if found := calls(tables):
        parts += [tag("h3", "Machine and software"), facts(tables, found), *of_calls(found)]
    return parts


def charts(stages: Sequence[StageResources]) -> HtmlText:
    """Worker time and memory, a bar per stage."""
    spent = [BarRow(one.stage, [("worker time", one.seconds, duration(one.seconds))], words(one)) for one in stages]
    figures = [drawn("Worker time by stage", spent, "worker time", "worker time in seconds")]
    held = [(one.stage, one.memory) for one in stages if one.memory]
    if held:
        rows = [BarRow(stage, [("peak memory", memory, size(memory))], size(memory)) for stage, memory in held]
        figures.append(drawn("Peak memory of a worker by stage", rows, "peak memory", "peak memory in bytes", "B"))
    return tag("div", *figures, class_="two")


def words(one: StageResources) -> str:
    return f"{duration(one.seconds)} · {100 * one.share:.1f} %"


def drawn(title: str, rows: Sequence[BarRow], series: str, axis: str, unit: str = "") -> HtmlText:
    most = max(value for row in rows for _, value, _ in row.parts) or 1.0
    parts: list[HtmlText] = []
    for row in rows:
        ((_, value, shown),) = row.parts
        one = bar([(100 * value / most, "kept", f"{row.name}: {shown}")], f"{row.name}: {shown}")
        parts += [tag("div", row.name), one, tag("div", row.words, class_="value")]
    still = tag("div", *parts, class_="ranks")
    return tag("figure", tag("h4", title), bars(still, rows, label=f"{series} by stage", axis=axis, unit=unit))


def facts(tables: RunTables, found: Calls) -> Inside:
    """Names and values, of the last call that did something."""
    call = found.last
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


def of_calls(found: Calls) -> list[Inside]:
    """The calls, where there are two or more."""
    if len(found.calls) < 2:
        return []
    words = f"{len(found.calls)} calls did the work of this run, {duration(found.seconds)} in all"
    if found.lost:
        words += f"; {found.lost} of them recorded no end, and their time is not in it"
    head, rows = calls_table(found)
    return [tag("h3", "Calls"), tag("p", f"{words}."), table(head, rows, words=(0, 1, 5, 6, 7))]
