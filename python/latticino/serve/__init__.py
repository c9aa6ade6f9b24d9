"""A service that runs compiled networks and recorded programs for many tenants, and its client (docs/serving.md).

The client needs the standard library and numpy alone. The modules of the server need the packages of the extra
`serve`, so nothing imports them but the commands and processes of the server.
"""
