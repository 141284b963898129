"""What can be said of tokens without their text: how documents are packed, cut, counted, sampled and mixed.

    packing    rows of equal length: documents in one stream, or whole where they fit
    breaks     where a document may be cut: after the tokens that end a paragraph or a sentence
    counts     how often each id occurs; documents with BOS and EOS
    estimate   about how many tokens a text has, from its middle
    periodic   runs of tokens that repeat with a short period
    sampling   random draws of documents that are the same in every run
    mixing     how much each source gives to a mixture, and how often each document is drawn
    budget     scaling laws: how many tokens a model of a given size needs; how many steps a number of tokens is
    llmc_header   what stands before the ids in a file of llm.c

Lengths and ids come in as arrays, layouts and counts go out as arrays: nothing here reads or writes a file.
"""
