"""How much was drawn from each source, if a step mixes them."""

from corpusmill.report.figures.mix import mix_table, mixes
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables


def section(tables: RunTables) -> list[Inside]:
    parts: list[Inside] = []
    for mix in mixes(tables):
        head, rows = mix_table(mix)
        again = sum(one.appearances - one.drawn_documents for one in mix.sources)
        never = sum(one.documents - one.drawn_documents for one in mix.sources)
        words = f"{number(never)} documents were never drawn; {number(again)} draws were repeats."
        parts += [tag("h3", mix.step), table(head, rows), tag("p", words, class_="note")]
    return parts
