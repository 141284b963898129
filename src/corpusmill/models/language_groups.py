"""Languages, by the labels of our models, that are too close to be told apart reliably, under one name.

Macrolanguages of ISO 639-3, continua and near relatives. Not all are measured: some members have no labelled text in
`make quality DATA=DIR`.
"""

from collections.abc import Iterable

GROUPS = {
    "arabic": frozenset({"ar", "arz", "ary"}),
    "azerbaijani": frozenset({"az", "azb"}),
    "chinese": frozenset({"zh", "yue", "wuu"}),
    "ethiopic": frozenset({"am", "ti"}),
    "hindi": frozenset({"hi", "bh", "mai"}),
    "hmong": frozenset({"hnj", "mww"}),
    "kurdish": frozenset({"ku", "ckb", "diq"}),
    "malay": frozenset({"ms", "id", "min"}),
    "nguni": frozenset({"zu", "xh", "ss", "nr"}),
    "norwegian": frozenset({"no", "nn", "nb"}),
    "persian": frozenset({"fa", "mzn"}),
    "punjabi": frozenset({"pa", "pnb"}),
    "rwanda-rundi": frozenset({"rw", "rn"}),
    "scandinavian": frozenset({"da", "no", "nn", "nb", "sv"}),
    "serbo-croatian": frozenset({"bs", "hr", "sr", "sh"}),
    "sotho-tswana": frozenset({"st", "tn", "nso"}),
    "tajik-persian": frozenset({"fa", "tg"}),
}


def members(names: Iterable[str]) -> set[str]:
    """The labels that languages and groups stand for."""
    return set().union(*(GROUPS.get(name, {name}) for name in names))
