"""Steps that make documents of documents, with a source of their own: rewriting by language models."""
