"""Where races are kept: a folder per race, and an index of the folders that can always be rebuilt."""
