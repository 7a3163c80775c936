"""The names of Rally that track plug-ins import, served as `esrally` while they run ([`import_hook`]).

Only what public tracks use is here. Submodules are imported at once: some tracks only write `import esrally`
and reach `esrally.utils.net`.
"""

from pacenote.plugins.rally_api.esrally import client, driver, exceptions, track, utils

__all__ = ["client", "driver", "exceptions", "track", "utils"]
