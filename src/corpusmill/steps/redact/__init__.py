"""Steps that replace personal data in the text, or drop the documents that have it.

`pii` finds what has a recognisable form, such as e-mail addresses (`corpusmill.steps.personal_data`), `names` finds
people and places by a model. `_redaction` holds their common parameters and what is done to each kind, `_pseudonyms`
the values that stand in for real ones.
"""
