"""What a shell completes beside verbs and options: names of steps and of recipes that ship."""


def steps(incomplete: str) -> list[str]:
    """The names of steps that begin so, with their folder or without."""
    from corpusmill.steps import names

    short = {name.rpartition("/")[2] for name in names()} if "/" not in incomplete else set()
    return sorted(name for name in {*names(), *short} if name.startswith(incomplete))


def recipes(incomplete: str) -> list[str]:
    """The names of recipes that ship and begin so."""
    from corpusmill.recipe.shipped import names

    return [name for name in names() if name.startswith(incomplete)]
