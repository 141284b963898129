"""Removing what a run has made, for a start from nothing."""

from corpusmill import storage
from corpusmill.store import owned
from corpusmill.store.locks import only_driver
from corpusmill.store.run_folder import FOLDERS, HUB, KEPT_AT_RESTART, OUTPUT, RECORDS, RunFolder


def refuse_strangers(run: RunFolder) -> None:
    """Raises RefusedFolder if anything below the folder is not the run's own."""
    foreign = owned.strangers(run.place, (*FOLDERS, *RECORDS), FOLDERS)
    why = "holds files that no record of this run names, so nothing is removed. Move them elsewhere. They are"
    owned.refuse(run.place, foreign, why)


def remove_all(run: RunFolder) -> None:
    """Remove all that a run has made, for a start from nothing; but not which documents it must leave out, nor what
    was done about that. Raises RefusedFolder if something else is here, or if the run is at work."""
    run.refuse_if_not_its_own()
    if not run.exists() and not owned.is_marked(run.place):
        return
    with only_driver(run):
        refuse_strangers(run)
        owned.mark(run.place)
        for folder in (OUTPUT, HUB, ""):
            owned.remove_written(run.place, folder)
        for name in storage.list_dir(run.place):
            if name not in KEPT_AT_RESTART:
                (storage.remove_tree if name in FOLDERS else storage.remove)(run.name_of(name))
