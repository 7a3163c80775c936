"""The page of a trend."""
