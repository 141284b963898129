"""Names of recipes and options that have changed: the old one is answered, with a warning, for two minor versions.

In the recipe that a run has recorded it is known for good: its folder can be read as long as there is a corpusmill.
"""

from typing import NamedTuple

from corpusmill.about import __version__

KEPT_MINORS = 2  # minor versions that know the old name: that which brought the new one, and the one after it


class Renamed(NamedTuple):
    """An old name and the new one.

    old     "recipe.KEY", "run.KEY", "reader NAME", "step FOLDER/NAME", "writer NAME"; "step FOLDER/NAME.PARAMETER" …;
            "VERB --option"
    new     the name alone: of a parameter "unit", of a step "dedup/minhash"
    since   the version that brought the new one: "1.2"
    """

    old: str
    new: str
    since: str

    @property
    def removed_in(self) -> str:
        """The version that no longer knows the old name.

        >>> Renamed("step dedup/minhash.of", "unit", "1.2").removed_in
        '1.4'
        """
        major, minor = map(int, self.since.split("."))
        return f"{major}.{minor + KEPT_MINORS}"

    def notice(self, name: str, version: str = __version__) -> str:
        """What somebody who wrote the old name is told.

        >>> Renamed("step dedup/minhash.of", "unit", "1.2").notice("dedup/minhash.of", "1.3.0")
        'dedup/minhash.of is called unit since 1.2, and will be removed in 1.4'
        """
        now = f"{name} is called {self.new} since {self.since}"
        return now if self.is_removed(version) else f"{now}, and will be removed in {self.removed_in}"

    def is_removed(self, version: str = __version__) -> bool:
        """
        >>> [Renamed("run.of", "unit", "1.2").is_removed(version) for version in ("1.2.0", "1.3.4", "1.4.0rc1")]
        [False, False, True]
        """
        return [int(part) for part in version.split(".")[:2]] >= [int(part) for part in self.removed_in.split(".")]


RECIPE: tuple[Renamed, ...] = ()
OPTIONS: tuple[Renamed, ...] = (
    Renamed("find --limit", "-n", "1.0"),
    Renamed("audit --sample", "-n", "1.0"),
    Renamed("export --sample", "-n", "1.0"),
    Renamed("index --step", "--dedup", "1.0"),
    Renamed("work --workers", "--processes", "1.0"),
)


def renamed(old: str) -> Renamed | None:
    """What is said of a name; None where it is none of the old ones."""
    return next((entry for entry in (*RECIPE, *OPTIONS) if entry.old == old), None)
