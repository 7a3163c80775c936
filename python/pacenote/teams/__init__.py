"""Team repositories: folders with Rally's cars and plugin configurations.

    team.py          finds the repository, and the revision for an engine
    ini_file.py      reads `.ini` files
    definitions.py   the cars of a repository
    plugins.py       the plugins and their configurations
    composition.py   several cars, plugins and parameters → folders of templates, hooks and variables
    node_variables.py  the variables of one node
    rendering.py     templates + variables → files
    config_files.py  files → settings, JVM options and log levels
    hooks.py         the Python code of cars and plugins, run in a process of its own (`hook_process.py`)

All but `team` and `hooks` only read files.
"""
