"""The proxy by raw sockets, against origins that the tests start themselves."""
