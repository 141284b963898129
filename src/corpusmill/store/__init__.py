"""A run on disk or in an object store: what is where, who writes it, and how a reader knows that it is whole.

    RUN/                          run_folder     layout, reading, records of the run; run_records: these as bytes
    RUN/stages/STAGE-FINGERPRINT/ stage_folder   plans, commits of units, their results
    one unit                      units          contract: a unit, its commit, the results of a stage
                                  unit_io        how a unit reads what earlier stages wrote, and writes its own files
    one file                      arrays         named NumPy arrays, mapped; fetched_arrays: rows of remote ones
                                  tables         Parquet whose bytes depend on its rows alone
                                  facts          counts, added up over units
    many workers                  leases, beats  whose a unit is, and how far
    what is the run's own         owned, sums    what may be removed; checksums
    removed documents             forgotten
    remote runs                   node_cache     files fetched once a machine

A unit's files are written under a temporary name and committed by one record that is created once: a killed unit leaves
nothing that counts, and two that do the same work leave the same bytes.
"""
