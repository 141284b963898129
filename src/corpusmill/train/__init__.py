"""Trains models from documents or from training shards; `corpusmill train` and `ablate` call them.

    tokenizer   a byte-level BPE tokenizer
    quality     a classifier that tells good documents from bad ones
    lm          an n-gram language model
    ablate      what stages, sources and buckets of a run are worth
    doremi      weights of the sources of a mixture (DoReMi), with two small models of `gpt`
    gpt         a small GPT in PyTorch
    texts       documents of files of any format that can be read
    sources     the tokens of each source in folders of training shards

The models that result are read by `models`.
"""
