"""Random inputs for everything that reads what others wrote: `make fuzz FUZZ_MINUTES=10`.

    mutate      bytes and texts, changed at random
    seeds       what they are changed from, made by code
    archives    targets: readers of records and pages, every compression, bombs
    sources     targets: readers of wikis, forums, papers, books, PDF, code, and of signals beside documents
    wording     targets: recipes, conditions of keep_where, queries of `sql`
    folders     targets: shards and the loader, the records of a run, and what of others is in its folder
    case        one case, in a process of its own
    __main__    the schedule, the table, and what failed

A target makes the files of a case from a Random, and checks what becomes of them. A case fails if its process dies, if
it takes longer than 10 s or more than 512 MiB, if it raises what is not meant for users, or if a promise of the target
does not hold.
"""
