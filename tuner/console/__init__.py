"""The operator's console: a Textual app, the same in plain lines, and the shift handover, all clients of the daemon."""
