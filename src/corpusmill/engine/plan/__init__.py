"""From a recipe to a plan: which stages there are, in which order, and what each reads.

    lower          steps -> stages
    plan           the plan itself, and the units of a stage
    identity       the fingerprint of a stage's work: parameters, code, library versions
    inputs, look   which files are read, and what is in them
    selections     which records of a crawl are read, asked once
    stored_rows    documents in memory, as files
    preflight      all that can be wrong with a recipe, before anything runs
    changes        what a run will do again, and why
    forecast       disk and memory
    earlier_runs   keys of documents that earlier runs kept

Nothing is written here but the records of a plan.
"""
