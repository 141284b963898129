"""corpusmill mills raw text into training tokens.

    import corpusmill
    done = corpusmill.run("web.yaml")
    print(done.waterfall.documents_out, done.shards)

`run` carries out a recipe, `check` says whether it could, and `audit` what is suspicious in what it gave; `Recipe`,
`Source` and `RunSettings` make one in Python, `as_filter` and `as_map` steps of plain functions; `corpusmill.loader`
reads the training shards and imports nothing of the rest. What `__all__` lists is the public API, together with the
steps, readers and writers of the reference; everything else may change without notice.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from corpusmill.about import __version__

if TYPE_CHECKING:
    from corpusmill import errors, loader, read, steps, trackers, write
    from corpusmill.ops.checks import Checked, check
    from corpusmill.ops.finished import DroppedDocument, Run, open
    from corpusmill.ops.runs import run
    from corpusmill.publish import Pushed, card, push
    from corpusmill.recipe.model import Recipe
    from corpusmill.recipe.parts import RunSettings, Source
    from corpusmill.recipe.rows import Rows
    from corpusmill.recipe.selection import for_sources
    from corpusmill.report.audit import Audit, audit
    from corpusmill.steps.filter.function import as_filter
    from corpusmill.steps.functions import Document
    from corpusmill.steps.map.function import as_map

__all__ = [
    "Audit",
    "Checked",
    "Document",
    "DroppedDocument",
    "Pushed",
    "Recipe",
    "Rows",
    "Run",
    "RunSettings",
    "Source",
    "__version__",
    "as_filter",
    "as_map",
    "audit",
    "card",
    "check",
    "errors",
    "for_sources",
    "loader",
    "open",
    "push",
    "read",
    "run",
    "steps",
    "trackers",
    "write",
]

# Imported when first used: the loader, which is installed beside training code, must not pay for the mill.
_HOMES = {
    "Audit": "corpusmill.report.audit",
    "audit": "corpusmill.report.audit",
    "Checked": "corpusmill.ops.checks",
    "check": "corpusmill.ops.checks",
    "Pushed": "corpusmill.publish",
    "card": "corpusmill.publish",
    "push": "corpusmill.publish",
    "Recipe": "corpusmill.recipe.model",
    "RunSettings": "corpusmill.recipe.parts",
    "Source": "corpusmill.recipe.parts",
    "for_sources": "corpusmill.recipe.selection",
    "Rows": "corpusmill.recipe.rows",
    "DroppedDocument": "corpusmill.ops.finished",
    "Run": "corpusmill.ops.finished",
    "open": "corpusmill.ops.finished",
    "run": "corpusmill.ops.runs",
    "as_filter": "corpusmill.steps.filter.function",
    "as_map": "corpusmill.steps.map.function",
    "Document": "corpusmill.steps.functions",
}


if not TYPE_CHECKING:  # a type checker would take any name for granted

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        if name in __all__:
            return import_module(f"corpusmill.{name}")
        raise AttributeError(f"module 'corpusmill' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
