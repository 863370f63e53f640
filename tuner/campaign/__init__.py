"""A campaign as a pure machine of states: commands in, events out, and what the shell should be doing."""
