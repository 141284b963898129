"""Mix: how much of each source is drawn, and how often."""
