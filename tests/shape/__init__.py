"""Guards of the shape of the code: sizes, layers, names, pages. Each first asserts that it saw something."""
