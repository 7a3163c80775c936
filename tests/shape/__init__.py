"""Guards on the structure of the code. Each first asserts that it found something to check."""
