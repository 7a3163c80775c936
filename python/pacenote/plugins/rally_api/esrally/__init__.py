"""The names of Rally that track plug-ins import, served as `esrally` while they run (`import_hook`).

Only what public tracks use is provided. All submodules are imported here, because some tracks only write
`import esrally` and then use `esrally.utils.net`.
"""

from pacenote.plugins.rally_api.esrally import client, driver, exceptions, track, utils

__all__ = ["client", "driver", "exceptions", "track", "utils"]
