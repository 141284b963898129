"""Makes models: one kind a file. What uses them stands in `models`; what they are made of is read as a run reads it."""
