"""The character between the fields of a CSV file, found out from its first rows."""

import csv
import re
from collections import Counter

AUTO = "auto"
USUAL_DELIMITERS = (",", ";", "\t", "|")
ROWS_COMPARED = 64  # that are compared
LINE = re.compile("[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def sniffed(path: str, head: str) -> str:
    """The delimiter of a file: of USUAL, the one by which the greatest share of the first rows has as many fields as
    the header, two at least; of several, the one that the file's name says, then the first. If none divides the header,
    what the name says: a tab in .tsv and .tab, else a comma.

    head   the first characters of the file; the last row in them may be cut
    """
    by_name = "\t" if re.search(r"\.(?:tsv|tab)\b", path.rpartition("/")[2].lower()) else ","
    shares = {delimiter: _share(head, delimiter) for delimiter in dict.fromkeys((by_name, *USUAL_DELIMITERS))}
    best = max(shares, key=lambda delimiter: shares[delimiter])  # the first of equals
    return best if shares[best] else by_name


def _share(head: str, delimiter: str) -> float:
    """Of the first rows, how many have as many fields as the header; 0 if that has one."""
    lines = LINE.findall(head)
    widths = []
    try:
        for row in csv.reader(lines, delimiter=delimiter):
            if row:
                widths.append(len(row))
            if len(widths) > ROWS_COMPARED:
                break
    except csv.Error:
        return 0.0
    header, *rows = widths or [0]
    if len(rows) > 1 and len(widths) <= ROWS_COMPARED:
        rows.pop()  # the head may end in it
    return Counter(rows)[header] / len(rows) if header > 1 and rows else float(header > 1)


def quoted(delimiter: str) -> str:
    """As it is written in a recipe."""
    return '"\\t"' if delimiter == "\t" else f'"{delimiter}"'
