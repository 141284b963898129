"""What a run did: its documents, figures and page, and questions to it. Reads what the run has committed, in Parquet
and SQL; nothing here changes a run.

    run_files    where the files of a run are, and what its record says
    tables       these files as tables, asked in SQL
    samples      documents of a run to look at, with their texts
    rules        what a reason means: a signal and its threshold
    rule_counts  how many documents fail each rule
    histograms   lengths, signals and similarities in bins (bins)
    waterfall    documents, bytes and tokens in and out of every step
    figures/     the answer to one question per file, as frozen dataclasses
    page/        the report page, one file per section; html/ has its building blocks
    explain      the history of one document
    audit/       red flags, with bounds and advice; the same as a prompt for a reviewer
    what_if/     what other thresholds would have kept
    diff         two runs, document by document
    views        SQL over a run, for users
    index        dedup keys of a run, for later runs
    numbers      numbers as people read them
    visible      untrusted text, made safe to display
"""
