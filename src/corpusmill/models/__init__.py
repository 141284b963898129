"""Models that read text: tokenizers, classifiers, language models. A step or `train` loads them by name or path.

Tokenizers:

    tokenizer            text -> token ids, by a fast engine that is checked against the reference
    tokenizer_file       a tokenizer as its file defines it: tokenizer.json, SentencePiece .model, tiktoken's ranks
    tokenizer_name       what a recipe may write for a tokenizer: a name that ships, a path, a repository of the hub
    tiktoken_file        tiktoken's ranks as a tokenizer.json
    sentencepiece_file   SentencePiece models through their library
    token_engines        the libraries that apply a vocabulary
    unexpressed          characters of a text that a tokenizer has no token for
    token_breaks         after which tokens a paragraph or a sentence ends
    fill_in              fill in the middle: documents whose middle comes last, and back
    url_prefix           the host of a document as tokens before it
    arranged             token ids of documents with either

Classifiers:

    language             the language of a document, by one of the models that follow
    wide                 our own, of 227 languages; `wide_score` has its kernels, `wide_file` its tables,
                         `wide_parts` the parts of a text, `close_pairs` tells neighbours apart, `common_words`
                         knows words of languages it lacks
    fineweb2             FineWeb2's bounds and stop words by language and script
    language_groups      languages that are mistaken for each other, as groups
    quality              how good a document is; `quality_score` has the kernels, `quality_shape` how a text looks
    blocks               which blocks of a page of HTML are its text
    toxicity             insults and obscenities; `toxicity_score` has the kernels
    classifier           any classifier by a name or path: `onnx_classifier` runs transformers
    onnx_encoder         encoders: a vector of each text
    torch_session        models of PyTorch, asked as those in ONNX are
    fasttext             fastText models of any kind; `fasttext_file` reads them, `fasttext_score` has the kernels

Language models, for perplexity:

    ngram                our own n-gram models; `ngram_keys` has their keys, `ngram_packed` the small form that ships
    kenlm                KenLM's, through its library

`model_file` reads and writes the files of models of our own; `table_cache` has what is made of them once a machine.
What a model computes depends on its file and the text alone; kernels release the interpreter's lock, so one process
needs no copy of a model per thread.
"""
