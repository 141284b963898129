"""What you can do with a run, and ask of it: a module for each verb, for the command line, notebooks and tests.

    runs           carry out a recipe in one process tree: plan, drive, publish, read back, report
    finish         the end of a run: add up, publish, read back
    worker         take part in a run as one of many workers on any machines
    checks         what `corpusmill check` says before anything runs
    estimate       tokens, time, memory, disk, requests and price of a run, from a sample
    finished       a finished run in Python: documents, tables, a loader
    collection     add inputs to a run, and remove them
    find           where a text is in a run
    forget         take documents out of a run, its shards and later runs
    tracing        which documents a batch holds, and which batches a document is in
    verify         read the output back
    watch          how far a run on any machine is
    rights         robots.txt of the hosts of a run
    provenance     run.json: calls, machine, git, the recipe as resolved

A module of this folder may use everything below it; nothing but `cli`, `inspect` and `trackers` uses them.
"""
