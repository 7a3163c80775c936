"""Experiments: many races by a design, planned from a seed, run one after another, and compared.

    read_file    the TOML file of an experiment → `Experiment`, or all its mistakes with their lines
    design       `Experiment` → the races in their order; pure
    progress     plan + journal → which races are done, which is next; pure
    run          runs the races that are not done, each through a `RaceRunner`, and ends early if it may
    evaluate     plan + journal + stored races → comparisons and the answer

An experiment that was killed goes on from its journal: its plan is never drawn again.
"""
