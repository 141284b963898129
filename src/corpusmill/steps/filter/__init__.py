"""Steps that drop documents, each with the rules it failed as the reason.

Most are a table of rules, each comparing one signal with one threshold (`gopher_quality` is a good first one to read,
and `corpusmill.steps.verdict` has what they share). The measures behind the rules are made once for all filters
(`steps.measures`) or by the filter itself, and are kept as signals, so other thresholds can be tried without the
text. `top` sees the whole corpus; all others judge each document by itself.
"""
