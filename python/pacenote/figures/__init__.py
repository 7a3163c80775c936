"""The figures of races: what each is called wherever it is shown (`catalogue`), and those that a race has
(`of_race`). Reports, comparisons, exports, the metrics store and the diagnosis are projections of them.
"""
