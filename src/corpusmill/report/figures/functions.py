"""How much of a run's time went into functions of the user's own."""

from corpusmill.engine.work.pass_results import SPENT
from corpusmill.store.run_folder import RunFolder


def time_in_functions(run: RunFolder) -> list[tuple[str, float, float]]:
    """(label, seconds, share of the seconds of all units) of the steps that call functions, in order."""
    results = list(run.results().values())
    spent = {
        name.removeprefix(SPENT): sum(filter(None, values)) / 1000
        for stage in results
        for name, values in stage.notes.items()
        if name.startswith(SPENT)
    }
    total = sum(float(stage.seconds.sum()) for stage in results)
    return [(label, seconds, seconds / total if total else 0.0) for label, seconds in spent.items()]
