"""A recipe: what to read, what to do with it, what to write; in Python or in YAML, checked strictly.

>>> recipe = Recipe.parse("read: {jsonl: docs/*.jsonl}\\nsteps: [filter/gopher_quality: {min_words: 30}]")
>>> recipe.read[0].paths, recipe.steps[0].min_words
(('docs/*.jsonl',), 30)
>>> recipe == Recipe(read={"jsonl": "docs/*.jsonl"}, steps={"filter/gopher_quality": {"min_words": 30}})
True
>>> print(recipe.dump().splitlines()[-1])
  - filter/gopher_quality: {min_words: 30}

A recipe in YAML passes these modules, in this order:

    tree            the text as nodes with line numbers; variables of the environment
    extends         with what it has from the recipe that it builds on
    override        `--set KEY=VALUE`: one value of the tree replaced
    part_nodes      the readers, steps and writers in the tree, not yet values
    renamed         old names of steps, parameters and options, and the new ones
    values          the value of a node, by the annotation of a parameter; and back
    load            all of it: a recipe, or all its problems together
    order           do the parts fit together? text before tokens before rows

What it becomes, and what is made of it:

    model           Recipe; `arguments`: what Python passes to it; `rows`: documents in memory
    parts           Source, RunSettings; `selection`: the sources that a step is for; `canaries`
    training_stage  a stage of training; `stages`: the shards that all stages read
    split           which documents are kept back for validation
    names           `gopher_quality` for `filter/gopher_quality`
    dump            YAML that `load` reads back to the same recipe
    fingerprint     the same work has the same one
    json_schema     the same rules for editors
    shipped         the recipes that ship; `advice`: changes that reports advise
"""

from corpusmill.recipe.fingerprint import code_version, step_fingerprint
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels, name_of
from corpusmill.recipe.order import check_order
from corpusmill.recipe.parts import RunSettings, Source
from corpusmill.recipe.selection import Selection, for_sources
from corpusmill.recipe.split import Split
from corpusmill.recipe.training_stage import TrainingStage

__all__ = [
    "Recipe",
    "RunSettings",
    "Selection",
    "Source",
    "Split",
    "TrainingStage",
    "check_order",
    "code_version",
    "for_sources",
    "labels",
    "name_of",
    "step_fingerprint",
]
