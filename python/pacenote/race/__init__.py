"""Running a race: from a request to a stored record.

`run.py` runs the stages: the data (`corpora`, `data_files`, `generated_corpora`), the engine and the clusters
(`engine_request`, `engine_sources`, `engine_start`, `targets`), the plan (`planning`), the driver (`drive`),
the check of document counts (`document_check`) and the record (`record`). `corpus_selection`, `data_folder`
and `plugins` are shared by the stages; `stop_signals` describes what the signals that stop a race do in each
of them; `prefetch`, `lifecycle`, `recover` and `merged_series` run outside a race. Only this package and
`python_tasks` call the Rust core.

Parsing tracks, compiling plans, provisioning engines, measuring and rendering reports belong to other
packages. Only `lab` and `cli` call this package.
"""
