"""What stages, sources and buckets of a run are worth, in bits per byte of held-out text; `corpusmill ablate`.

documents       the documents of a run by source, bucket and the stages that drop them; groups, and what is held out
design          which factors are on in which model
experiment      models of one group of documents, and what it asks of a kind of models
grams           n-grams, which share their counts
gpts            small GPTs, trained together
group_effects   the effects of all factors in an experiment
ablation        the effects of all experiments, with intervals
weights         the mix that follows
picture         all of it as SVG
"""
