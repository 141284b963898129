"""Steps that measure and judge nothing: language, script, quality, perplexity, toxicity, personal data.

Each leaves its measurements as signals, `<step>.<column>`, one value per document. Later steps of the same pass judge
by them (`filter/keep_where`, `filter/pareto`, `filter/top`), and so can anyone after the run: in the report, by
`what-if` or in SQL. The text is not changed.
"""
