"""Seconds, throughput and memory of each stage: the only section that tells how fast a run was."""

from corpusmill.report.figures.resources import resources, resources_table
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.tables import RunTables


def section(tables: RunTables) -> list[Inside]:
    stages = resources(tables)
    if not stages:
        return []
    note = (
        "Seconds of all workers together, those of earlier runs that did the work included. Throughput is that of one "
    )
    note += "worker, in documents and text that came to the stage. Memory is what a worker had at most during a unit; "
    note += "where the system cannot tell, since the worker began."
    return [table(*resources_table(stages)), tag("p", note, class_="note")]
