"""Carry a plan out, stage after stage.

    session        one call: plan, folder, executor, listener, and how far it is
    carry_out      the loop over the stages: plan the units, reuse what is there
    stage_run      the units that are missing, by the executor; their results, put together
    damage         files that are not as their commits say: their units are done again
    budget         how many records may be lost
    listener       what shows the progress
    meter          how fast the run is
    clock          where its time goes
    workers        how many of them have work
    drops_all      steps that have dropped all they saw

All that a stage needs to know of the call is in its Session.
"""
