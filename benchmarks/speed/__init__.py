"""How fast, and how much memory.

    measures    measures of text, one core               loader      tokens per second, memory, order of 10**12 rows
    models      models and indexes, one core             what_if     what-if, explain, diff, sql on a run of a million
    tokens      tokenising to shards                     startup     --help, first documents, first run on a machine
    map_pass    the first pass, a worker per core        roofline    a whole run beside the least that it could take
    whole_run   JSONL to verified shards, and the cost   two_workers whole runs with one worker and with two
    scale       near deduplication of 10 million         linear      seconds per GB at 1, 4 and 16 GB

All but `scale` and `linear` have `run(workload, runs, scratch, …) -> list[Figure]`, print a table, and are run by name:
`python -m benchmarks --workload build/workload measures loader`. `python -m benchmarks.speed.scale` and
`python -m benchmarks.speed.linear` make their own data.
"""
