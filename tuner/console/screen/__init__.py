"""The console's face on a terminal: a Textual app."""
