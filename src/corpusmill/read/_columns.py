"""Which columns of an input hold the text or the page, id, URL and date of a document."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan
from typing import Any, Literal

import pyarrow as pa

from corpusmill.errors import InputError, RecipeError, did_you_mean
from corpusmill.read import ColumnTypes
from corpusmill.read._dates import iso
from corpusmill.read._documents import DocumentBatches, FileReader, Unfit, as_json
from corpusmill.read._own_columns import Check, checks_of

TEXT = ("text", "content", "body", "raw_content", "document")
ID = ("id", "doc_id", "document_id", "docid", "_id", "uuid")
URL = ("url", "uri", "source_url", "link", "warc_target_uri", "metadata.url", "meta.url", "metadata.WARC-Target-URI")
DATE = (
    "date", "timestamp", "created", "published", "date_download", "crawl_date", "warc_date",
    "metadata.date", "metadata.timestamp", "meta.date", "meta.timestamp", "metadata.WARC-Date",
)  # fmt: skip
MAX_NAME = 60  # characters of a column's name that a message shows
# What to do where no column holds text.
TEXT_FIRST = "Write the text of each record, such as its messages, into a column of its own first"
MISSING = object()
Path = tuple[str, ...]


@dataclass(frozen=True)
class Roles:
    """The column for each role. A name may be nested with dots; None means the first usual name that is a column, if
    any. `html` has no usual names: where it is given, the documents are pages, and no column is looked for that holds
    text.

    A row that is null in that column is not read from the next usual name.
    """

    text: str | None = None
    html: str | None = None
    id: str | None = None
    url: str | None = None
    date: str | None = None
    keep: tuple[str, ...] | None = None  # other columns to keep as metadata; None keeps all
    columns: Literal["keep"] | tuple[str, ...] | None = None  # those that documents keep in their types

    @property
    def content(self) -> str | None:
        """The column that the recipe names for the page or the text."""
        return self.html if self.html is not None else self.text

    def check(
        self,
        columns: Iterable[str],
        where: str,
        nested: Mapping[str, Any] | None = None,
        texts: Sequence[str] | None = None,
    ) -> None:
        """Raise InputError unless the columns of an input can play these roles.

        nested   a row to look up nested names in; without one, what follows the first dot of a name is not checked
        texts    those of the columns that hold text, where their types are known
        """
        columns = list(columns)
        by_role = {"text": self.text, "page": self.html, "id": self.id, "url": self.url, "date": self.date}
        for role, name in by_role.items():
            if name is not None and not _has(columns, name, nested):
                raise InputError(
                    f'{where}: there is no column "{name}" for the {role}{did_you_mean(name, columns) or "."} '
                    f"It has: {_listed(columns)}."
                )
        content = self.content if self.content is not None else next((name for name in TEXT if name in columns), None)
        for name in (content, self.id, self.url, self.date):
            if name is not None and columns.count(name) > 1:
                raise InputError(
                    f'{where}: {columns.count(name)} columns are called "{name}", and it is not clear which one is '
                    "meant. Give them names of their own."
                )
        if content is None:
            likely = _likely_text(columns, nested) if texts is None else _likely_text(texts, nested, "")
            advice = (
                f"Name the one with the text, for example `text: {likely}`."
                if likely
                else f"None holds text. {TEXT_FIRST}."
            )
            header = " A name that long is a text: the first line must be the names of the columns."
            raise InputError(
                f"{where}: none of its columns is called {', '.join(TEXT[:-1])} or {TEXT[-1]}. {advice} "
                f"It has: {_listed(columns)}.{header if any(len(name) > MAX_NAME for name in columns) else ''}"
            )

    def needed(self, columns: Iterable[str]) -> list[str]:
        """The columns of a table that must be read, in the table's order."""
        columns = list(columns)
        if self.in_metadata is None:
            return columns
        own = {*self.converted(columns), *self.kept_columns(columns)}
        return [name for name in columns if name in own]

    def converted(self, columns: Iterable[str]) -> list[str]:
        """Those of them whose values become Python values."""
        columns = list(columns)
        if self.in_metadata is None:
            return columns
        plan = _plan(self, tuple(columns))
        heads = {path[0] for path in (plan.content, *plan.id, *plan.url, *plan.date) if path}
        return [name for name in columns if name in heads or name in self.in_metadata]

    @property
    def in_metadata(self) -> tuple[str, ...] | None:
        """What `keep` names; nothing where `columns` keep them, unless it does."""
        return () if self.keep is None and self.columns is not None else self.keep

    def kept_columns(self, columns: Iterable[str]) -> list[str]:
        """The columns that documents keep in their types; that of the text is among them."""
        columns = tuple(columns)
        if self.columns is None:
            return []
        if self.columns != "keep":
            return [name for name in columns if name in self.columns or name == self.text_column(columns)]
        page = _plan(self, columns).content if self.html is not None else ()
        return [name for name in columns if (name,) != page]

    def text_column(self, columns: Iterable[str]) -> str | None:
        """The column that is the text; None if it is a page, or within a struct."""
        path = _plan(self, tuple(columns)).content
        return path[0] if self.html is None and len(path) == 1 else None

    def column_types(self, schema: pa.Schema) -> ColumnTypes:
        """What documents keep of columns with these names and types."""
        text = self.text_column(schema.names)
        kept = set(self.kept_columns(schema.names))
        fields = [pa.field(f.name, pa.null() if f.name == text else f.type) for f in schema if f.name in kept]
        return ColumnTypes(pa.schema(fields), text, tuple(schema.names))


@dataclass(frozen=True, kw_only=True)
class ColumnReader(FileReader):
    """What readers of rows share: the columns that a recipe names."""

    text: str | None = None
    html: str | None = None  # the column that holds HTML pages, instead of text
    id: str | None = None
    url: str | None = None
    date: str | None = None
    keep: tuple[str, ...] | None = None  # other columns to keep; null keeps all, [] none
    columns: Literal["keep"] | tuple[str, ...] | None = None  # to keep in their types: keep for all, or names

    def __post_init__(self) -> None:
        if self.text is not None and self.html is not None:
            raise RecipeError(
                f'text names the column "{self.text}" and html the column "{self.html}", but a document is either text '
                "or a page: leave one of them out. Other columns are kept as metadata"
            )
        object.__setattr__(self, "keep", None if self.keep is None else tuple(self.keep))
        object.__setattr__(self, "columns", own_columns(self.columns))

    @property
    def roles(self) -> Roles:
        return Roles(self.text, self.html, self.id, self.url, self.date, self.keep, self.columns)


def own_columns(columns: Any) -> Literal["keep"] | tuple[str, ...] | None:
    """The parameter `columns` of a reader. Raises RecipeError for what it cannot be."""
    if columns is None or columns == "keep":
        return columns  # type: ignore[no-any-return]
    if isinstance(columns, str) or not columns:
        raise RecipeError(f"columns is keep, for all columns of the input, or a list of their names; got {columns!r}")
    return tuple(columns)


@dataclass(frozen=True)
class ColumnPlan:
    """Where the roles are in rows with the same columns: paths in order of preference."""

    content: Path  # of the page, or of the text
    id: tuple[Path, ...]
    url: tuple[Path, ...]
    date: tuple[Path, ...]


@dataclass
class RowReader:
    """Turns rows into documents."""

    roles: Roles
    docs: DocumentBatches
    plans: dict[tuple[str, ...], ColumnPlan] = field(default_factory=dict)

    def add_values(self, position: int, row: dict[str, Any], size: int) -> None:
        """Add the document of a row of JSON values with the columns that it keeps; a dead letter `other_type` if one of
        these is not of its type. `row` is changed.

        size   bytes of the row in its file: as many are counted for these columns
        """
        if self.docs.own is None or self.roles.columns is None:
            self.add(position, row)
            return
        own = {name: value for name, value in row.items() if self._is_kept(name)}
        if problem := self._check(own):
            reason = f"{problem}. Types are found by the first records of each file; `columns` can name those to keep"
            self.docs.dead(position, "other_type", reason)
            return
        rows = self.docs.rows
        self.add(position, row)
        if self.docs.rows > rows:
            self.docs.own.add(own)
            self.docs.bytes += size

    def _is_kept(self, name: str) -> bool:
        columns = self.roles.columns
        return (columns == "keep" and name != self.roles.html) or (columns is not None and name in columns)

    @cached_property
    def _check(self) -> Check:
        assert self.docs.own is not None
        return checks_of(self.docs.own.schema, every=self.roles.columns == "keep")

    def add(self, position: int, row: dict[str, Any]) -> None:
        """Add the document of a row, or its dead letter: `no_text` if the text is missing or not a string,
        `empty_text` if it is null or white space; `no_page` and `empty_page` where documents are pages, which may be
        bytes too.

        Columns with a role are not repeated in the metadata, except the id, because the document's id is a hash of it.
        `row` is changed.
        """
        columns = tuple(row)
        plan = self.plans.get(columns)
        if plan is None:
            if len(self.plans) > 1000:  # nearly every row has other columns
                self.plans.clear()
            plan = self.plans[columns] = _plan(self.roles, columns)
        content = _get(row, plan.content)
        is_page = self.roles.html is not None
        # Writers that mark no column as text have it, and all other strings, as bytes.
        as_bytes = isinstance(content, bytes) and not is_page and self.roles.text is not None
        value_at = _get_text if as_bytes else _get
        own_id = url = day = None
        for path in plan.id:
            value = value_at(row, path)
            # A number in a column that the recipe does not name is usually a row count that restarts in every file.
            if value != "" and isinstance(value, str if self.roles.id is None else str | int):
                own_id = str(value)
                break
        keeps = self.roles.columns is not None  # nested values are those of the columns that documents keep
        for path in plan.url:
            value = value_at(row, path)
            if isinstance(value, str):
                url = value
                _remove(row, path, keeps)
                break
        unread_date = None
        for path in plan.date:
            value = value_at(row, path)
            day = iso(value)
            if day is not None:
                _remove(row, path, keeps)
                break
            unread_date = value if value not in (None, "", MISSING) else unread_date
        name = "page" if is_page else "text"
        if as_bytes and isinstance(content := _get_text(row, plan.content), bytes):
            reason = f'"{".".join(plan.content)}" holds bytes that are not UTF-8: {content[:40]!r}'
            self.docs.dead(position, "bad_encoding", reason, url=url)
            return
        if content is None or (isinstance(content, float) and isnan(content)):  # NaN: null, where there is no other
            self.docs.dead(position, f"empty_{name}", f"the {name} is null", url=url, expected=True)
            return
        if not isinstance(content, (str, bytes) if is_page else str):
            state = "is missing" if content is MISSING else f"is {type(content).__name__}"
            path_text = f'"{".".join(plan.content)}"' if plan.content else f"{', '.join(TEXT)}: all missing, the text"
            self.docs.dead(position, f"no_{name}", f"{path_text} {state}, not a string", url=url)
            return
        if not content or content.isspace():
            self.docs.dead(position, f"empty_{name}", f"the {name} is empty", url=url, expected=True)
            return
        _remove(row, plan.content, keeps)
        if self.roles.in_metadata is not None:
            row = {name: row[name] for name in self.roles.in_metadata if name in row}
        try:
            metadata = as_json(row)
        except Unfit as error:
            self.docs.dead(position, error.kind, f"{error}; `keep` chooses which of them are", url=url)
            return
        if day is None and unread_date is not None:
            self.docs.counts.unread_date(str(unread_date))
        about: dict[str, Any] = {"given": own_id, "url": url, "date": day, "metadata": metadata}
        if isinstance(content, bytes):
            self.docs.add(position, raw=content, **about)
        elif is_page:
            # Lone surrogates are not in UTF-8, and no reader leaves any.
            self.docs.add(position, raw=content.encode("utf-8", "replace"), charset="utf-8", **about)
        else:
            self.docs.add(position, text=content, **about)


def content_of(roles: Roles, row: dict[str, Any]) -> tuple[str, Any]:
    """Name and value of a row's text or page; None where it has none."""
    path = _plan(roles, tuple(row)).content
    value = _get(row, path)
    return ".".join(path), None if value is MISSING else value


def _plan(roles: Roles, columns: tuple[str, ...]) -> ColumnPlan:
    content = roles.content or next((name for name in TEXT if name in columns), None)
    return ColumnPlan(
        _path(content, columns) if content else (),
        _paths(roles.id, ID, columns),
        _paths(roles.url, URL, columns),
        _paths(roles.date, DATE, columns),
    )


def _paths(chosen: str | None, usual: tuple[str, ...], columns: tuple[str, ...]) -> tuple[Path, ...]:
    if chosen is not None:
        return (_path(chosen, columns),)
    flat = next((name for name in usual if name in columns), None)
    if flat is not None:
        return ((flat,),)
    return tuple(path for name in usual if "." in name and (path := _path(name, columns))[0] in columns)


def _path(name: str, columns: tuple[str, ...]) -> Path:
    """The path to a name: a column with dots in its name comes before a nested field."""
    return (name,) if name in columns else tuple(name.split("."))


def _get(row: Any, path: Path) -> Any:
    for name in path:
        if not isinstance(row, dict):
            return MISSING
        row = row.get(name, MISSING)
    return row if path else MISSING


def _get_text(row: Any, path: Path) -> Any:
    """The same; bytes that are UTF-8 as a string."""
    value = _get(row, path)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    return value


def _remove(row: Any, path: Path, only_columns: bool = False) -> None:
    if only_columns and len(path) > 1:
        return
    for name in path[:-1]:
        row = row[name]
    row.pop(path[-1], None)  # gone already if it has another role, too


def _has(columns: list[str], name: str, nested: Mapping[str, Any] | None) -> bool:
    if name in columns:
        return True
    head, dot, _ = name.partition(".")
    return bool(dot) and head in columns and (nested is None or _get(nested, tuple(name.split("."))) is not MISSING)


def _likely_text(columns: Sequence[str], nested: Mapping[str, Any] | None, usual: str = "story") -> str:
    """The column that a user most likely means as the text, as YAML: a usual name in other letters or within an object,
    else the first that has no other role; "" if a row shows that none holds text.

    usual   what is named where there is neither such a column nor a row
    """
    inside = {name: value for name, value in (nested or {}).items() if isinstance(value, dict)}
    fields = [(f"{name}.{key}", key) for name, value in inside.items() for key in value]
    for name, last in [*((name, name) for name in columns), *fields]:
        if last.strip().lower() in TEXT:
            return name if name == name.strip() else f"'{name}'"
    texts = (
        columns if not nested else [name for name in columns if nested[name] is None or isinstance(nested[name], str)]
    )
    others = [name for name in texts if name.strip().lower() not in (*ID, *URL, *DATE)]
    return _shortened(next(iter(others), "" if nested else usual))


def _shortened(name: str) -> str:
    """A name of a column for a message: where there is no header, it is a text."""
    return name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]} …"


def _listed(columns: list[str]) -> str:
    return ", ".join(map(_shortened, columns[:30])) + (" …" if len(columns) > 30 else "") if columns else "none"
