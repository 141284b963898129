"""corpusmill mills raw text into training tokens.

    import corpusmill
    done = corpusmill.run("recipes/demo.yaml")
    print(done.waterfall.documents_out, done.shards)

`run` carries out a recipe; `Recipe`, `Source` and `RunSettings` say one in Python; `corpusmill.loader` reads the
training shards and imports nothing of the rest.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corpusmill.recipe.model import Recipe
    from corpusmill.recipe.parts import RunSettings, Source
    from corpusmill.runs import Run, run

__version__ = "0.1.0"
__all__ = ["Recipe", "Run", "RunSettings", "Source", "run"]

# Imported when first used: the loader, which is installed beside training code, must not pay for the mill.
_HOMES = {
    "Recipe": "corpusmill.recipe.model",
    "RunSettings": "corpusmill.recipe.parts",
    "Source": "corpusmill.recipe.parts",
    "Run": "corpusmill.runs",
    "run": "corpusmill.runs",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'corpusmill' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
