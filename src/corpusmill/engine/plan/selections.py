"""Which records of a large collection a run reads: asked once, and kept in the run's folder.

The file is in a folder that is named for the question. A resumed run finds it there and does not ask, so it reads the
same records, whatever the collection has become.
"""

import shutil
import uuid
from collections.abc import Callable
from dataclasses import replace

import xxhash

from corpusmill import storage
from corpusmill.engine.plan.usable_folder import refuse_if_unusable
from corpusmill.errors import CorpusmillError, InputError, RecipeError
from corpusmill.read import SelectsRecords
from corpusmill.recipe.model import Recipe
from corpusmill.recipe.parts import Source
from corpusmill.recipe.rows import Rows
from corpusmill.store.run_folder import RunFolder, input_folder


def with_selections(recipe: Recipe, run: RunFolder, note: Callable[[str], None] = lambda line: None) -> Recipe:
    """The recipe with the files of selections in place of the collections that its sources select from.

    note   is called with a line for each source that is asked

    Several processes may do it at once: their answers are the same.
    """
    if not any(map(selects, recipe.read)):
        return recipe
    refuse_if_unusable(run, (), ())
    run.make()
    changed = replace(recipe, read=[_selected(s, run, note) if selects(s) else s for s in recipe.read])
    object.__setattr__(changed, "written", recipe.written)
    return changed


def selects(source: Source | Rows) -> bool:
    """Whether the records of a source are to be asked for."""
    return isinstance(source, Source) and isinstance(source.reader, SelectsRecords)


def _selected(source: Source, run: RunFolder, note: Callable[[str], None]) -> Source:
    reader: SelectsRecords = source.reader
    paths = []
    for location in source.paths:
        if not reader.is_location(location):
            paths.append(location)
            continue
        folder = input_folder(source.source, xxhash.xxh3_128_hexdigest(reader.question(location).encode()))
        relative = run.input(f"{folder}/{reader.selection}")
        paths.append(run.name_of(relative))
        if storage.exists(paths[-1]):
            continue
        note(f"{source.source}: which records of {storage.name_of(location)} are meant is asked, once")
        scratch = run.new_file(run.input(f"{folder}/scratch"))
        draft = run.new_file(run.input(f"{storage.TEMPORARY}{uuid.uuid4().hex}"))
        try:
            sentence = reader.select(location, draft, scratch)
            run.take_input(draft, paths[-1])
        except Exception as error:
            if storage.exists(paths[-1]):  # another worker was faster, and removed what both were writing to
                continue
            if isinstance(error, InputError | RecipeError):
                raise _about(source, error) from error
            raise
        finally:
            draft.unlink(missing_ok=True)
        shutil.rmtree(scratch, ignore_errors=True)
        note(f"{source.source}: {sentence}")
    return replace(source, paths=tuple(paths))


def _about(source: Source, error: CorpusmillError) -> CorpusmillError:
    return type(error)(f"{source.source}: {error}")
