"""Compares stored races: their results (`groups`, the entry point `compare_groups`) and their configurations
(`race_diff`).

Pure: records in, a `Comparison` (`model.comparison`) out. `stats` computes effects and words, `validity`
decides whether they count.
"""
