"""Any condition over the signals of a document, in SQL: RedPajama-v2's way of filtering."""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.errors import DocumentError, RecipeError, did_you_mean
from corpusmill.steps import Columns
from corpusmill.steps.verdict import join_reasons


@dataclass(frozen=True, kw_only=True)
class KeepWhere:
    """Keep the documents for which a condition in SQL is true, or each of several.

        filter/keep_where: {condition: gopher_quality.content_words > 100 and language.label = 'en'}
        filter/keep_where: {conditions: {long_enough: stats.words >= 50, fluent: perplexity.value BETWEEN 60 AND 10000}}

    The reason is the name of the condition: `keep_where.long_enough`; that of the single one is `keep_where.condition`.
    A condition may use every signal of an earlier step of the same pass, as LABEL.COLUMN, and id, source, file,
    position, url, date, and bytes (of the text). Signals of steps before a dedup are out of reach: put the condition
    above the dedup.

    It is an expression of DuckDB, with any function of values alone (lower, regexp_matches …). Subqueries, aggregates,
    windows, files, randomness and the clock are refused. Times are in UTC. A condition that is None, as one on a None
    signal is, drops the document: coalesce(url, '') = ''.

    Source: Weber et al. 2024 (RedPajama-v2), arXiv:2411.12372
    """

    condition: str | None = None  # SQL over the signals of a document; not true drops it
    conditions: tuple[tuple[str, str], ...] = ()  # name -> condition; all must be true

    needs: ClassVar[tuple[str, ...]] = ("*",)
    threshold_parameters: ClassVar[tuple[str, ...]] = ("condition", "conditions")

    def __post_init__(self) -> None:
        if (self.condition is None) == (not self.conditions):
            raise RecipeError(
                "filter/keep_where: give one condition, or conditions by name, as in {conditions: {long: bytes > 1000}}"
            )
        for name, condition in self.named_conditions():
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise RecipeError(
                    f'filter/keep_where: "{name}" cannot name a condition, and so a reason; use letters, digits and _'
                )
            parsed(condition)
        if len(dict(self.named_conditions())) < len(self.named_conditions()):
            raise RecipeError("filter/keep_where: two conditions have the same name")

    def reasons(self, docs: pa.RecordBatch, signals: Columns) -> pa.Array:
        return join_reasons(**{name: fails(parsed(condition), signals) for name, condition in self.named_conditions()})

    def named_conditions(self) -> tuple[tuple[str, str], ...]:
        return self.conditions if self.condition is None else (("condition", self.condition),)


def fails(expression: "Expression", signals: Columns) -> pa.Array:
    """(documents,) bool: whether it is not true."""
    for name in expression.columns:
        if name not in signals:
            raise RecipeError(unknown(name, signals.keys()))
    # A table without columns has no rows.
    documents = pa.table({name: signals[name] for name in expression.columns or ("bytes",)})
    return pc.invert(pc.fill_null(evaluate(expression.sql, documents), False))


@dataclass(frozen=True)
class Expression:
    """A checked condition: its columns by their full names, in order, and the SQL over a table that has them."""

    columns: tuple[str, ...]
    sql: str


@cache
def parsed(condition: str) -> Expression:
    """The condition, if it is one expression over the values of one document. Raises RecipeError if it is not.

    >>> parsed("url.soft_words > 1")
    Expression(columns=('url.soft_words',), sql='SELECT ("url.soft_words" > 1) FROM documents')
    """
    if not condition.strip():
        raise RecipeError("filter/keep_where: the condition is empty")
    try:
        return _parsed(condition)
    except UnicodeError:  # half of a pair of UTF-16, which YAML and JSON can escape
        raise RecipeError(
            f"filter/keep_where: the condition is no valid Unicode text; got: {condition!a:.200}"
        ) from None
    except RecursionError:
        raise RecipeError(f"filter/keep_where: nested too deeply to be a condition: {_cut(condition)}") from None


def _parsed(condition: str) -> Expression:
    excerpt = _cut(condition)
    condition.encode()
    tree = syntax(f"select ({condition}\n)")
    if tree["error"]:
        raise RecipeError(f"filter/keep_where: {tree['error_message'].splitlines()[0]}: {excerpt}")
    select = tree["statements"][0]["node"]
    expressions = select.get("select_list", ())  # a UNION has none of its own
    if len(tree["statements"]) > 1 or len(expressions) != 1 or select | {"select_list": []} != bare():
        raise RecipeError(f"filter/keep_where: the condition must be one expression, not a statement; got: {excerpt}")
    columns: dict[str, None] = {}
    for part in parts(expressions):
        if part["class"] not in OF_VALUES:
            kind = REFUSED.get(part["class"], part["class"].lower())
            raise RecipeError(f"filter/keep_where: {kind} is not possible in a condition on one document: {excerpt}")
        if part["class"] == "FUNCTION" and (name := part["function_name"]) not in functions():
            mistyped = name not in functions(every=True)
            hint = did_you_mean(name, filter(str.isidentifier, functions())) if mistyped else ""
            raise RecipeError(
                f'filter/keep_where: "{name}" is not a function of values alone{hint or "."} In: {excerpt}'
            )
        if part["class"] == "COLUMN_REF":
            name = ".".join(part["column_names"])
            part["column_names"] = [name]
            columns[name] = None
    select["from_table"] = syntax("select 1 from documents")["statements"][0]["node"]["from_table"]
    ((sql,),) = database().execute("select json_deserialize_sql(?)", [json.dumps(tree)]).fetchall()
    return Expression(tuple(columns), sql)


def _cut(condition: str) -> str:
    """As much of a condition as a message needs."""
    return condition if len(condition) <= 500 else f"{condition[:500]}…"


# The classes of DuckDB's syntax tree that compute values from values.
OF_VALUES = {
    *("BETWEEN", "CASE", "CAST", "COLUMN_REF", "COMPARISON"),
    *("CONJUNCTION", "CONSTANT", "FUNCTION", "OPERATOR", "TYPE"),
}
REFUSED = {"SUBQUERY": "a subquery", "WINDOW": "a window", "STAR": "a star", "PARAMETER": "a parameter"}

# Functions of which DuckDB (1.4 to 2.0) says that they look at their arguments alone, and which do not: at the clock
# (age of one argument), at settings, at how rows are stored.
NOT_OF_VALUES = {
    *("age", "current_localtime", "current_localtimestamp"),
    *("current_setting", "getvariable", "vector_type"),
}

# Functions that DuckDB writes in SQL, and that look at their arguments alone; it does not say so of any of these.
MACROS = ("if", "nullif", "split_part", "fdiv", "fmod", "array_to_string")


ZONED = ["TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS", "TIME WITH TIME ZONE"]
# What looks at the time zone has its value from its arguments, too, since the zone is set below. DuckDB 2.0.1 began to
# say otherwise of these, among them + and -, of which one form takes a time with a zone.
LISTED = """
    select distinct function_name, function_type = 'scalar' and (
        stability = 'CONSISTENT'
        or stability = 'CONSISTENT_WITHIN_QUERY' and len(parameter_types) > 0
        and list_has_any(list_append(parameter_types, return_type), ?)
    )
    from duckdb_functions()
"""


def parts(tree: Any) -> Iterator[dict[str, Any]]:
    """Every expression of a syntax tree."""
    if isinstance(tree, dict):
        if "class" in tree:
            yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for child in tree:
            yield from parts(child)


def syntax(sql: str) -> Any:
    """DuckDB's syntax tree of a statement, without looking anything up or running it."""
    ((tree,),) = database().execute("select json_serialize_sql(?)", [sql]).fetchall()
    return json.loads(tree)


@cache
def bare() -> dict[str, Any]:
    """The syntax tree of a select from nothing, without its expressions."""
    select: dict[str, Any] = syntax("select 1")["statements"][0]["node"]
    return select | {"select_list": []}


@cache
def functions(*, every: bool = False) -> frozenset[str]:
    """The functions whose value depends on their arguments alone, one row at a time; with `every`, all functions."""
    listed = database().execute(LISTED, [ZONED]).fetchall()
    if every:
        return frozenset(name for name, _ in listed)
    impure = {name for name, is_pure in listed if not is_pure}
    return frozenset({name for name, _ in listed} - impure - NOT_OF_VALUES | set(MACROS))


@cache
def database() -> Any:
    """A DuckDB of this process that opens no file, loads no extension and starts no thread."""
    import duckdb

    settings = {
        "threads": 1,
        "enable_external_access": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,  # a name in SQL never refers to a Python variable
    }
    connection = duckdb.connect(":memory:", config=settings)
    # A time with a zone is shown, and cut into days and hours, in that of the machine: by each, in another one.
    connection.execute("set global TimeZone = 'UTC'")
    connection.execute("set lock_configuration = true")
    return connection


def evaluate(sql: str, documents: pa.Table) -> pa.Array:
    """(documents,) bool, null where the condition is.

    Raises RecipeError where the types do not fit, DocumentError where a value cannot be computed.
    """
    import duckdb

    with database().cursor() as cursor:
        cursor.register("documents", documents)
        try:
            holds = cursor.sql(sql).to_arrow_table().column(0)
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            raise RecipeError(f"filter/keep_where: {str(error).splitlines()[0]}") from None
        except duckdb.Error as error:
            raise DocumentError(f"filter/keep_where: {str(error).splitlines()[0]}") from None
    if not pa.types.is_boolean(holds.type):
        raise RecipeError(f"filter/keep_where: the condition must be true or false, and is of type {holds.type}")
    return pa.concat_arrays(holds.chunks) if holds.num_chunks else pa.array([], pa.bool_())


def unknown(name: str, signals: Collection[str]) -> str:
    """The message for a column that does not exist."""
    column = name.rpartition(".")[2]
    same = [signal for signal in signals if signal.rpartition(".")[2] == column]
    hint = f'; did you mean "{same[0]}"?' if same else did_you_mean(name, signals) or "."
    return (
        f'filter/keep_where: no earlier step of this pass makes the signal "{name}"{hint} '
        f"There are: {', '.join(signals)}. Signals of steps before a dedup are in an earlier pass: put the condition "
        "above the dedup."
    )
