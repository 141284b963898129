"""What a run's folder holds and the run no longer uses.

Stages, and units of stages, of earlier recipes, thresholds, inputs and versions: a run with the same work would use
them again, so they are kept until somebody removes them. And where the recipe says `keep: output`, what stages wrote
for later ones alone: neither the report nor questions to the run read it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote

from corpusmill import storage
from corpusmill.errors import ResumeError
from corpusmill.report.run_files import RunFiles
from corpusmill.store import owned
from corpusmill.store.locks import only_driver
from corpusmill.store.restart import refuse_strangers
from corpusmill.store.run_folder import STAGES, STAGES_RECORD, RunFolder
from corpusmill.store.stage_folder import StageFolder

INTERMEDIATE = ("batches", "ids", "keys-", "shingles")  # how the names of such outputs begin


@dataclass(frozen=True)
class UnusedFiles:
    """Files of a stage that the run does without.

    stage   "minhash-group"
    folder  its name below `stages`: "minhash-group-3fa2b1c4"
    whole   the run has no such stage; else it has, with other units
    bytes   of all these files
    """

    stage: str
    folder: str
    whole: bool
    files: int
    bytes: int


def unused(run: RunFolder) -> list[UnusedFiles]:
    """By name of the folder. Raises ResumeError if the run is not finished: what it will use is not known before."""
    return [entry for entry, _ in _unused(run)]


def remove_unused(run: RunFolder) -> list[UnusedFiles]:
    """Remove them; returns what was removed. Killed at any moment, the same call completes it.

    Raises RefusedFolder, before anything is removed, if the run is at work, or files are there that it did not write.
    """
    with only_driver(run):
        refuse_strangers(run)
        found = _unused(run)
        whole = [entry.folder for entry, _ in found if entry.whole]
        foreign = [f"{STAGES}/{folder}/{name}" for folder in whole for name in run.stage(folder).strangers()]
        owned.refuse(run.place, foreign, "there are files that the run has not written. Move them elsewhere. They are")
        for entry, names in found:
            run.stage(entry.folder).remove_files(names)
            if entry.whole:
                storage.remove_tree(run.name_of(f"{STAGES}/{entry.folder}"))
        return [entry for entry, _ in found]


def remove_intermediate(run: RunFolder) -> None:
    """Remove what only later stages of a finished run have read. Its driver calls this."""
    for folder, output in _intermediate(run):
        folder.free(output)


def refuse_removed(run: RunFolder) -> None:
    """Raises ResumeError if files of earlier stages were removed by `remove_intermediate`: workers that share a run do
    not make them again."""
    if any(folder.is_freed(output) for folder, output in _intermediate(run)):
        raise ResumeError(
            f"{run.place}: token ids, keys and n-grams were removed when the run had finished (run.keep: output), and "
            f"workers that share a run do not make them again. Have one machine do so: corpusmill run RECIPE --folder "
            f"{quote(run.place)} --set run.keep=all"
        )


def _intermediate(run: RunFolder) -> Iterator[tuple[StageFolder, str]]:
    """The outputs of all stages that only later stages read."""
    for results in run.results().values():
        for output in results.outputs:
            if output.startswith(INTERMEDIATE):
                yield run.stage_of(results), output


def _unused(run: RunFolder) -> list[tuple[UnusedFiles, list[str]]]:
    RunFiles(run).must_be_finished()
    plans: dict[str, str] = {entry["folder"]: entry["plan"] for entry in run.read(STAGES_RECORD)}
    found = []
    for folder in run.stage_folders():
        sizes = run.stage(folder).of_other_plans(plans.get(folder))
        if sizes or folder not in plans:
            about = folder.rpartition("-")[0], folder, folder not in plans, len(sizes), sum(sizes.values())
            found.append((UnusedFiles(*about), list(sizes)))
    return found
