"""Where races are stored: one folder per race, and an index of the folders.

`race_folder` reads and writes the files of one race, `race_store` creates and finds races, `race_index` lists
them quickly, `atomic_files` writes so that a crash leaves no half-written file. What several races are
compared by belongs to `stats`, what a report shows to `report`; the Rust core writes the Parquet
files.

`race`, `lab` and `cli` call it; it imports only `model` and `errors`.
"""
