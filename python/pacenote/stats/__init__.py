"""Statistics: pure functions of numbers. Used by `lab`."""
