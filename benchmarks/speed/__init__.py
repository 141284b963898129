"""How fast, and how much memory.

    measures    measures of text, one core               loader      tokens per second, memory, order of 10**12 rows
    models      models and indexes, one core             what_if     what-if, explain, diff, sql on a run of a million
    tokens      tokenising to shards                     startup     --help, first documents, first run on a machine
    map_pass    the first pass, a worker per core        scale       near deduplication of 10 million documents
    whole_run   JSONL to verified shards

All but `scale` have `run(workload, runs, scratch, …) -> list[Figure]`, print a table, and are run by name:
`python -m benchmarks --workload build/workload measures loader`. `python -m benchmarks.speed.scale` makes its own data.
"""
