"""What to do, said once: a recipe in Python or in YAML, checked strictly, with a fingerprint."""

from corpusmill.recipe.fingerprint import code_version, step_fingerprint
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels, name_of
from corpusmill.recipe.order import check_order
from corpusmill.recipe.parts import RunSettings, Source
from corpusmill.recipe.selection import Selection, for_sources
from corpusmill.recipe.training_stage import TrainingStage

__all__ = [
    "Recipe",
    "RunSettings",
    "Selection",
    "Source",
    "TrainingStage",
    "check_order",
    "code_version",
    "for_sources",
    "labels",
    "name_of",
    "step_fingerprint",
]
