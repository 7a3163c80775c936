"""The storage of races: one folder per race, and an index of the folders.

`race_folder` reads and writes the files of one race, `race_store` creates and finds races, `race_index` lists
them quickly, `atomic_files` writes files atomically, `reserved_file` reserves room for them. Statistics
belong to `stats`, reports to `report`; the Rust core writes the Parquet files.

Used by `race`, `lab` and `cli`; imports only `model` and `errors`.
"""
