"""Steps that keep the questions of benchmarks out of training text."""
