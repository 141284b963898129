"""What a unit of a stage does, in a worker: documents through steps, tokens, rows, shards.

    passes, batch  documents through the steps that see a batch
    extraction     texts of pages, once: the first part of the first pass; half_way: its batches, stored
    pass_*         what a pass writes beside the documents: keys, signals, counts
    split          which documents are for validation
    documents      the writers of documents
    tokens         texts -> token ids
    shards         packed rows, or documents of tokens, into shards
    text_files     which documents are in which file of text

The work of the stages between, which turns keys into verdicts, is in `steps`.
"""
