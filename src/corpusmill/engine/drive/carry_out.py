"""Stage after stage: plan the units, reuse what is there, do what is missing, record the results."""

from functools import partial

from corpusmill import assets
from corpusmill.engine.drive.budget import check_budget, facts_of_records
from corpusmill.engine.drive.damage import RestartStages
from corpusmill.engine.drive.listener import listening_to
from corpusmill.engine.drive.session import Progress, Session, StageCounts
from corpusmill.engine.drive.stage_run import StageRun, describe_plan
from corpusmill.engine.drive.workers import too_few_units
from corpusmill.engine.plan.identity import assets_of
from corpusmill.engine.plan.plan import unit_list
from corpusmill.execute.task import StageTask
from corpusmill.store.stage_folder import StageFolder, stage_folder
from corpusmill.store.unit_io import Upstream
from corpusmill.store.units import Results, Unit
from corpusmill.store.work import Stage


def carry_out(session: Session) -> Progress:
    """Do every stage in turn; where files of an earlier session were damaged, once more from the first."""
    while True:
        session.begin()
        try:
            with listening_to(session.executor, session.listener, session.meter):
                for number, stage in enumerate(session.plan.stages):
                    session.clock.at(stage.name)
                    session.progress.results[stage.name] = _results(session, number, stage)
                    if session.counts_records(stage):
                        own = session.progress.results[stage.name].facts
                        facts = facts_of_records(*session.facts_before(stage), own)
                        check_budget(session.plan.recipe, session.run.place, facts, early=False)
        except RestartStages:
            continue
        return session.progress


def _results(session: Session, number: int, stage: Stage) -> Results:
    """What the units of a stage left: earlier, or now."""
    identity = session.plan.identity(stage.name)
    folder = session.run.stage(stage_folder(stage.name, identity.fingerprint))
    where = {name: session.progress.where[name] for name in stage.after}
    upstream = Upstream(session.run, where, session.progress.session)
    try:
        units = unit_list(stage, upstream)
    except Exception:
        session.compare(stage)  # it may be what planning read
        raise
    session.repairs.sound(folder, partial(folder.describe, identity.to_json()))
    plan = session.repairs.sound(folder, partial(folder.plan, units))
    session.record(number, stage, plan)
    results = session.repairs.sound(folder, partial(folder.results, plan))
    if results is not None and (damaged := session.repairs.resized(folder, results)):
        session.repairs.forget(folder, stage.name, damaged)
        results = None
    if results is not None:
        return _reuse(session, number, folder, units, results)
    if number == 0 and (why := too_few_units(session.plan, units, session.workers)):
        session.listener.note(why)
    quarantined = session.repairs.sound(folder, folder.aside)
    digests = identity.assets
    guard = partial(assets.pinned, digests, partial(assets_of, stage.work), assets.planned(list(digests)))
    name, _ = session.progress.where[stage.name]
    task = StageTask(session.run, name, stage.work, where, stage.needs, session.progress.session, quarantined, guard)
    return StageRun(session, number, folder, units, task).run()


def _reuse(session: Session, number: int, folder: StageFolder, units: list[Unit], results: Results) -> Results:
    """Take the results that are there, and say so."""
    stage, done_now = session.plan.stages[number], session.repairs.done_of(folder, results.keys)
    session.listener.stage(stage, len(units), len(units))
    if session.meter:
        session.meter.stage(number, units, ())
    describe_plan(stage, units, session.listener)
    session.progress.counts[stage.name] = StageCounts(len(units), len(units) - done_now, done_now)
    return results
