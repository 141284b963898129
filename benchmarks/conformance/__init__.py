"""Do our steps give what the tests of other projects expect? See __main__.py.

A file per peer says which step of ours answers each of its functions, and why an answer differs where it does; `cases`
reads vectors, `ask` runs steps, `whole_runs` what takes a run, `compare` holds answers against expectations, `unicode`
runs the test files of the Unicode standard, `page` writes docs/conformance.md.
"""
