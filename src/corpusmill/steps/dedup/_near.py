"""The stages of near deduplication: group the keys, verify the candidate pairs, decide.

    group     a unit is a few partitions: who shares a key, compared by sketch with the leaders of the bucket. Of many
              documents two stages come before, see _sketches.py, so that no sketch is read by itself
    links     one unit: the clusters of candidates, divided among the units that decide
    shingles  a unit is a file of documents: the n-gram hashes of its candidates, and of no other document
    routes    a unit is some files of groups: their pairs by the unit that decides on them
    decide    a unit is some clusters: exact similarity of the candidate pairs, survivors in order of preference
    verdicts  a unit is some neighbouring units of the pass
    emptied   one unit: the domains that lose nearly all

Only keys, sketches and the hashes of candidates are read; the text of candidates alone is read once, by `shingles`.
"""

from corpusmill.steps.corpus import (
    DocumentFile,
    after,
    against_stages,
    digest,
    documents_content,
    key_files,
    keys_alone,
    keys_content,
    partition_ranges,
)
from corpusmill.steps.dedup._candidates import MinhashGroups, certain_bounds
from corpusmill.steps.dedup._clusters import links_stage
from corpusmill.steps.dedup._decide import ClusterUnit, MinhashDecide
from corpusmill.steps.dedup._emptied import NearVerdicts, emptied_stage
from corpusmill.steps.dedup._routes import routes_stage
from corpusmill.steps.dedup._shingles import MinhashShingles
from corpusmill.steps.dedup._sketches import are_many, bucket_units, sketch_stages
from corpusmill.steps.dedup._verdicts import DuplicateVerdicts, verdict_stage
from corpusmill.steps.keys import KeyStage
from corpusmill.store.unit_io import Upstream
from corpusmill.store.units import Resources
from corpusmill.store.work import PlannedUnit, Stage
from corpusmill.text.shingles import Shingling


def near_stages(
    keys: KeyStage,
    shinglings: tuple[Shingling, ...],
    shape: tuple[int, int],
    threshold: float,
    most_lost: float,
    mark: bool,
) -> list[Stage]:
    """
    shinglings   the ways in which pairs are compared: of two, both have to agree; keys and sketches are of the first
    shape        bands and rows
    most_lost    share of the n-grams of a document that is dropped which may be lost with it
    """
    bands, rows = shape
    group, links, shingles, routes, decide = (
        f"{keys.label}-{name}" for name in ("group", "links", "shingles", "routes", "decide")
    )
    many = are_many(keys)

    def by_documents(upstream: Upstream) -> list[PlannedUnit]:
        digests = upstream.arrays(upstream.results(links)["candidates"].path(0))["digests"]
        starts = key_files(keys, upstream).starts.tolist()  # the hashes are written with the numbers of documents
        numbers = range(len(starts) - 1)
        content = (documents_content(keys, upstream, i) for i in numbers)
        return [
            PlannedUnit(DocumentFile(i), (text, bytes(digests[i]).hex(), f"{i}:{starts[i]}"))
            for i, text in zip(numbers, content)
        ]

    def by_clusters(upstream: Upstream) -> list[PlannedUnit]:
        members = digest(upstream.results(links)["members"])
        compared = digest(upstream.results(routes)["routes"]), digest(upstream.results(shingles)["shingles"])
        content = (*keys_content(keys, upstream), members, *compared)
        count = int(upstream.results(links).numbers("clusters")[0])
        return [PlannedUnit(ClusterUnit(i), (*content, str(i))) for i in range(count)]

    verdicts = (DuplicateVerdicts if mark else NearVerdicts)(keys, decide, "near_copy", mark)
    return [
        *against_stages(keys),
        *(sketch_stages(keys, bands) if many else []),
        Stage(
            group,
            MinhashGroups(keys, bands * rows, *certain_bounds(threshold, bands * rows)),
            *(bucket_units(keys) if many else (after(keys), partition_ranges(keys, bands))),
            reads=keys_alone(keys),
        ),
        links_stage(keys, group),
        Stage(
            shingles,
            MinhashShingles(keys, shinglings),
            after(keys, links),
            by_documents,
            reads={keys.stage: {"docs": ()}},
        ),
        routes_stage(keys, group, links),
        Stage(
            decide,
            MinhashDecide(keys, len(shinglings), threshold, most_lost),
            after(keys, links, shingles, routes),
            by_clusters,
            Resources(grows=True),
        ),
        verdict_stage(verdicts),
        *([] if mark else [emptied_stage(keys, f"{keys.label}-verdicts")]),
    ]
