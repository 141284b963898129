"""How a recipe is carried out: from steps to stages, and what each stage does with each of its units.

    lower          a recipe as a plan: stages, in order
    inputs         how input files are cut into units
    identity       the fingerprint of a stage's work: parameters, code, library versions
    passes, batch  documents through steps
    documents      clean text; tokens: token ids; shards: packed rows and documents of tokens
    text_files     which documents are in which file of text
    earlier_runs   keys of documents that earlier runs kept
    carry_out      stage after stage, by an executor
    changes        what a run will do again, and why
    preload        what workers import before they start

The steps themselves are in `steps`, and know nothing of this.
"""
