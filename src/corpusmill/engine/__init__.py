"""How a recipe is carried out.

    plan     a recipe as a plan: stages in order, each with its fingerprint
    drive    stage after stage, by an executor
    work     what each stage does with a unit, in a worker

A step of a recipe does not become a stage of its own: all steps that see a batch and stand together are one pass over
the documents. A step that needs the whole corpus (dedup, filter/top, mix) adds keys to the pass before it, stages that
turn all keys into verdicts, and a further pass that applies these. Where texts are extracted from pages, the first pass
has a stage `extract` before it, so that a change behind the extraction does not repeat it. The steps themselves are in
`steps`, and know nothing of this. `preload` is what workers import before they start.

    recipe     [filter/url, filter/c4, dedup/exact, clean/urls, tokenize/bpe, pack/concat] -> shards
    stages     pass-1 (filter/url, filter/c4, keys) -> exact-group -> exact-names -> exact-verdicts
               -> pass-2 (verdicts, clean/urls, token ids) -> tokens -> shards
"""
