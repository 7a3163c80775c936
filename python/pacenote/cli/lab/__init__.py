"""The parts of `experiment`, `tune` and `saturate`: their plans, progress, results and pages."""
