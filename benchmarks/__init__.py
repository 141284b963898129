"""Measurements of the mill. Nothing here is installed, and nothing in src/ or tests/ imports it.

    speed/      how fast, how much memory: on the workload, by `make bench`; by number of documents, by `make scale`
    peers/      beside other libraries on the same documents: their speed (`make bench`), the decisions of datatrove's
                rules (`make parity`), the readers of trainers (`make interop`)
    quality/    how often a decision is right, on real and labelled documents: `make quality DATA=DIR`

    quick.py        is it slower than the figures in quick.json: `make bench-quick`
    calibration.py  the fixed loop that these figures are divided by
    common.py       the workload as an object, tables, medians, bars, memory of process trees
    samples.py      the documents that rules and models are measured on
    workload.py     builds the workload: `python -m benchmarks.workload --out build/workload`

`python -m benchmarks` runs speed/ and the timed part of peers/. Everything prints Markdown; RESULTS.md is assembled
from that output. A figure with a bar that is missed makes the exit status 1.
"""
