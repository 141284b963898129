"""Which change of a recipe the checks advise. Each is one that the recipe does not have yet: none where nothing is left
to advise, or the recipe cannot be read here."""

from collections.abc import Sequence
from typing import Any

from corpusmill.recipe import advice
from corpusmill.recipe.advice import RecipeChange, at_the_end, before_dedup, label_of
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.names import labels, name_of
from corpusmill.steps import Transform
from corpusmill.steps.personal_data import KNOWN

Changes = tuple[RecipeChange, ...]
MIN_ADVISED_THRESHOLD = 0.7  # of near deduplication that is advised: below it, different texts are taken for copies
ROW_TOKENS = 2048  # tokens of a row


def _steps_named(recipe: Recipe | None, name: str) -> list[tuple[str, Any]]:
    """Label and step of those of a name."""
    if recipe is None:
        return []
    return [(label, step) for label, step in zip(labels(recipe.steps), recipe.steps) if name_of(step) == name]


def find_copies(recipe: Recipe | None) -> Changes:
    if recipe is None:
        return ()
    position = at_the_end(recipe)
    return (RecipeChange("find copies", "add", "dedup/exact", {}, position), *find_near_copies(recipe))


def find_near_copies(recipe: Recipe | None) -> Changes:
    if recipe is None or _steps_named(recipe, "dedup/minhash"):
        return ()
    return (RecipeChange("find near copies", "add", "dedup/minhash", {}, at_the_end(recipe)),)


def fewer_near_copies(recipe: Recipe | None) -> Changes:
    """Near copies are left: where none are looked for, or before text changes, or those that are less alike."""
    minhash_steps = _steps_named(recipe, "dedup/minhash")
    if recipe is None or not minhash_steps:
        return find_near_copies(recipe)
    label, step = minhash_steps[-1]
    step_labels = labels(recipe.steps)
    after = list(zip(step_labels, recipe.steps))[step_labels.index(label) + 1 :]
    if changing := [name for name, later_step in after if isinstance(later_step, Transform)]:
        return (RecipeChange("compare last", "move", label, {}, f"below {changing[-1]}"),)
    if step.threshold <= MIN_ADVISED_THRESHOLD or step.mark:
        return ()
    solved = {name: None for name in ("bands", "rows") if getattr(step, name) is not None}
    return (RecipeChange("lower the threshold", "set", label, {"threshold": MIN_ADVISED_THRESHOLD, **solved}),)


def count_tokens(recipe: Recipe | None) -> Changes:
    if recipe is None:
        return ()
    return (*_tokenizer(recipe, "count tokens"), *_shards(recipe, "count tokens"))


def write_rows(recipe: Recipe | None) -> Changes:
    if recipe is None:
        return ()
    packed = label_of(recipe, "pack/")
    rows = () if packed else (RecipeChange("write rows", "add", "pack/concat", {"length": ROW_TOKENS}, "last"),)
    return (*_tokenizer(recipe, "write rows"), *rows, *_shards(recipe, "write rows"))


def _tokenizer(recipe: Recipe, name: advice.Name) -> Changes:
    return () if label_of(recipe, "tokenize/") else (RecipeChange(name, "add", "tokenize/bpe", {}, "last"),)


def _shards(recipe: Recipe, name: advice.Name) -> Changes:
    return (
        () if any(name_of(writer) == "shards" for writer in recipe.write) else (RecipeChange(name, "write", "shards"),)
    )


def pack_better(recipe: Recipe | None) -> Changes:
    label = label_of(recipe, "pack/") if recipe else None
    if recipe is None or label is None:
        return ()
    step = dict(zip(labels(recipe.steps), recipe.steps))[label]
    if name_of(step) == "pack/best_fit" or (name_of(step) == "pack/concat" and step.split_at is None):
        return ()
    return (RecipeChange("pack better", "replace", label, {"length": step.length}, by="pack/best_fit"),)


def strip_html(recipe: Recipe | None) -> Changes:
    """Of sources that are neither extracted nor stripped; then entities, where nothing decodes them."""
    if recipe is None:
        return ()
    if changes := advice.strip_html(recipe, [source.source for source in recipe.read]):
        return changes
    if any(step.entities for _, step in _steps_named(recipe, "clean/normalize")):
        return ()
    return (RecipeChange("decode entities", "add", "clean/normalize", {}, before_dedup(recipe)),)


def redact(recipe: Recipe | None, kinds: Sequence[str]) -> Changes:
    """What of the kinds that are left no step of the recipe looks for."""
    if recipe is None:
        return ()
    pii_steps = _steps_named(recipe, "redact/pii")
    if not pii_steps:
        all_kinds = [kind for kind in KNOWN if kind in ("email", "ip", *kinds)]
        return (RecipeChange("redact personal data", "add", "redact/pii", {"kinds": all_kinds}, before_dedup(recipe)),)
    label, step = pii_steps[-1]
    looked_for = {kind for _, pii_step in pii_steps for kind in pii_step.kinds}
    if missing := [kind for kind in kinds if kind not in looked_for]:
        all_kinds = [kind for kind in KNOWN if kind in (*step.kinds, *missing)]
        return (RecipeChange("redact more kinds", "set", label, {"kinds": all_kinds}),)
    if kinds and all(pii_step.forms == "plain" for _, pii_step in pii_steps):
        return (RecipeChange("redact more forms", "set", label, {"forms": "any"}),)
    return ()


def look_for_benchmarks(recipe: Recipe | None) -> Changes:
    if recipe is None:
        return ()
    benchmarks = {"benchmarks": "benchmarks/*.jsonl"}
    return (RecipeChange("look for benchmarks", "add", "decontaminate/ngrams", benchmarks, at_the_end(recipe)),)


def drop_benchmarks(recipe: Recipe | None) -> Changes:
    marking = [label for label, step in _steps_named(recipe, "decontaminate/ngrams") if step.action == "mark"]
    return tuple(RecipeChange("drop benchmarks", "set", label, {"action": "drop"}) for label in marking)


def leave_out(recipe: Recipe | None, domain: str) -> Changes:
    url_filters = _steps_named(recipe, "filter/url")
    if url_filters:
        label, step = url_filters[0]
        if isinstance(step.block_domains, str):  # a file of them
            return ()
        return (RecipeChange("leave out a domain", "set", label, {"block_domains": [*step.block_domains, domain]}),)
    blocked = {"block_domains": [domain]}
    return (RecipeChange("leave out a domain", "add", "filter/url", blocked, "first"),) if recipe else ()


def tell_languages(recipe: Recipe | None) -> Changes:
    return (RecipeChange("tell languages", "add", "annotate/language", {}, before_dedup(recipe)),) if recipe else ()


def drop_stubs(recipe: Recipe | None, size: int) -> Changes:
    shorter = {"rules": ["min_bytes"], "min_bytes": size}
    return (RecipeChange("drop stubs", "add", "filter/basic", shorter, at_the_end(recipe)),) if recipe else ()


def drop_giants(recipe: Recipe | None, size: int) -> Changes:
    longer = {"condition": f"bytes <= {size}"}
    return (RecipeChange("drop giants", "add", "filter/keep_where", longer, at_the_end(recipe)),) if recipe else ()


def drop_shared_lines(recipe: Recipe | None) -> Changes:
    if recipe is None or _steps_named(recipe, "dedup/line"):
        return ()
    return (RecipeChange("drop shared lines", "add", "dedup/line", {}, at_the_end(recipe)),)
