"""Statistics: pure, of numbers alone."""
