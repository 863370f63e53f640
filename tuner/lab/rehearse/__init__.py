"""A campaign rehearsed before it meets its machine: drawn processes on its own space, and what to expect of it."""
