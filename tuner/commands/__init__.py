"""Small commands: clients of a running daemon, keys, the protocol's schema, and a look at the whole installation."""
