"""A local page on a finished run: look at its documents, move its thresholds, judge without seeing its verdicts.

serve        the server: this machine alone, a random token in the address
app          which address gives what
listing      the documents, filtered, page by page
document     one document: its history, its text with what rules measured in it, its duplicate beside it
marks        where in a text the measured things are
sliders      the signals of a pass in 8 bits: counts for other thresholds at once
moves        what other thresholds change, in a pass over the codes
thresholds   what the page moves them by, the exact counts, and the recipe with them
blind        documents to judge, with what the run decided hidden; agreement
accuracy     precision and recall of a pass by what was judged
page/        what the browser gets: one page, its style, its modules
"""
