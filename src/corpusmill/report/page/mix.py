"""How much each source gives, where a step mixes them."""

from corpusmill.report.figures.mix import mix_table, mixes
from corpusmill.report.html.markup import Inside, table, tag
from corpusmill.report.numbers import number
from corpusmill.report.tables import RunTables


def section(tables: RunTables) -> list[Inside]:
    parts: list[Inside] = []
    for mix in mixes(tables):
        head, rows = mix_table(mix)
        again = sum(one.appearances - one.drawn_documents for one in mix.sources)
        none = sum(one.documents - one.drawn_documents for one in mix.sources)
        words = f"{number(none)} documents are not drawn; documents come again {number(again)} times."
        parts += [tag("h3", mix.step), table(head, rows), tag("p", words, class_="note")]
    return parts
