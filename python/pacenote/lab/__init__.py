"""Experiments: many measurements by design, one question."""
