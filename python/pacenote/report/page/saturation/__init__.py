"""The page of a search for the highest rate."""
