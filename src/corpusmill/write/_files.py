"""What the writers of documents share: their parameters `mb_per_file`, `single_file`, `name`, `columns`, `signals`."""

from functools import cached_property

from corpusmill.errors import RecipeError
from corpusmill.write._columns import Columns, ColumnSelection, as_columns, selection
from corpusmill.write._names import stem


class DocumentFiles:
    """A frozen dataclass with these parameters; without `columns` all columns are written."""

    mb_per_file: int
    single_file: bool
    name: str | None
    columns: Columns = None
    signals: tuple[str, ...]

    @property
    def suffix(self) -> str:
        raise NotImplementedError

    @property
    def stem(self) -> str | None:
        return stem(self.name, self.suffix, self.single_file)

    @cached_property
    def selection(self) -> ColumnSelection:
        return selection(self.columns, self.signals)

    def __post_init__(self) -> None:
        if self.columns is not None:
            object.__setattr__(self, "columns", as_columns(self.columns))
        object.__setattr__(self, "signals", tuple(self.signals))
        if self.mb_per_file < 1:
            raise RecipeError(f"need mb_per_file >= 1, got {self.mb_per_file}")
        self.check()
        _ = self.stem, self.selection  # complain now, not in a worker

    def check(self) -> None:
        """Raises RecipeError if a parameter of the writer's own is invalid."""
        level = getattr(self, "level", 1)
        if not 1 <= level <= 9:
            raise RecipeError(f"level must be in 1 to 9, got {level}")
