"""Running a race: from a request to a stored record.

`run.py` lists the stages; every other file here is one of them: the data (`corpora`, `data_files`,
`generated_corpora`), the clusters (`targets`), the plan (`planning`), the driver (`drive`), the checks
afterwards (`document_check`) and the record (`record`). It is the only package that calls the Rust core.

Parsing tracks, compiling plans, provisioning engines, measuring and rendering reports belong to the packages
below. `lab` and `cli` call this package; nothing below does.
"""
