"""The page: parts side by side in a browser, and an engineer's window; a client of the wire, like the console."""
