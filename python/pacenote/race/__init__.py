"""Running a race: from a request to a stored record. The only package that lets the Rust core drive."""
