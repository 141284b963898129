"""Trains models from documents; `corpusmill train` and `ablate` call them.

    tokenizer   a byte-level BPE tokenizer
    quality     a classifier that tells good documents from bad ones
    lm          an n-gram language model
    ablate      what stages, sources and buckets of a run are worth
    gpt         a small GPT in PyTorch
    texts       documents of files of any format that can be read

The models that result are read by `models`.
"""
