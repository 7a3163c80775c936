"""The lists of `pacenote list`, one for each kind."""
