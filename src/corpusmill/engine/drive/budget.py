"""How many records a run may lose to errors: `run.error_budget`."""

from corpusmill.display import dead_letters, setting
from corpusmill.errors import BudgetError
from corpusmill.recipe.model import Recipe
from corpusmill.store.facts import Facts, total

EARLY = 10_000  # records after which a run that loses too many stops at once, not at the end of the pass


def check_budget(recipe: Recipe, location: str, facts: Facts, early: bool) -> None:
    """Raises BudgetError if more records were bad than `run.error_budget` allows: a share of them, or a count.

    location   of the run, for the message
    early   the pass is not complete: a share is not judged before so many records
    """
    records, bad, kinds = bad_records(facts)
    budget = recipe.run.error_budget
    if early and isinstance(budget, float) and records < EARLY:
        return
    allowed = budget * records if isinstance(budget, float) else budget
    if bad <= allowed:
        return
    worst = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0])))
    raise BudgetError(
        f"{bad} of {records} records could not be processed ({worst}), and run.error_budget allows "
        f"{int(allowed) or 'none'}. Look at them with {dead_letters(location)}. If the loss is acceptable, run again "
        f"with {setting('run.error_budget', _enough(bad, records))}; nothing is read twice."
    )


def bad_records(facts: Facts) -> tuple[int, int, dict[str, int]]:
    """Records read; records and documents lost to errors; these by kind."""
    kinds: dict[str, int] = {}
    records = 0
    for source in facts.get("read", {}).values():
        records += source.get("records", 0)
        for kind, count in source.get("dead", {}).items():
            kinds[kind] = kinds.get(kind, 0) + count
    for step, sources in facts.get("failed", {}).items():
        kinds[f"{step} failed"] = sum(sources.values())
    return records, sum(kinds.values()), kinds


def facts_of_records(*facts: Facts) -> Facts:
    """What `bad_records` looks at, added up."""
    return total({name: unit_facts[name] for name in ("read", "failed") if name in unit_facts} for unit_facts in facts)


def _enough(bad: int, records: int) -> str:
    return f"{min(1.0, -(-bad * 1000 // max(records, 1)) / 1000):g}" if records else "1.0"
