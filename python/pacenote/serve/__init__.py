"""Shows the stored races in a browser: a server that only this machine reaches.

    server → application → race_pages, list_page, live_page …      HTTP, then pages as text
                         → access                                  who may read and write
                         → live_updates → live_race                a running race, as events

Names of tracks, engines and hosts are confidential, so every request needs the token of the server.
"""
