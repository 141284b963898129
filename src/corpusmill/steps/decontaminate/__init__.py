"""Decontamination: steps that find the questions of benchmarks in training text, and remove them."""
