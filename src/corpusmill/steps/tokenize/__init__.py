"""Tokenize: text in, token ids out."""
