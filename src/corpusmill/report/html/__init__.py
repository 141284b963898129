"""The building blocks of the report page: escaped markup, SVG charts, cards of documents, the style sheet."""
