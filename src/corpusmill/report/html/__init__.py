"""What the report page is made of: markup that is escaped, charts as SVG, documents as cards, the style sheet."""
