"""The model is the judge: one small GPT trained on each stage of the mill, and its loss on text that people call good.

`python -m benchmarks.ablation prepare --data DIR --out FOLDER` mills one corpus four times: as it comes, after rules,
after rules and deduplication, after all of it and the quality model. `train` trains the same model from the same three
seeds on the same number of tokens of each, through the loader, and writes the loss on held-out text; it needs PyTorch
and what `prepare` wrote, so it may run on another machine. `show` prints the table and draws the picture.

`planted` asks whether `corpusmill ablate`, which measures any run with many smaller models (n-grams, or GPTs with
`--models gpt`), finds a worth that is known; `worth` prints what it says of the corpus that the GPT is trained on.

    corpus    where the pages come from, and what is held out
    arms      what is milled, and how
    training  one model on one arm
    show      the table and the picture
    planted   sources and stages of known worth, and what `corpusmill ablate` finds
    worth     what it finds in this corpus
"""
