"""The `tuner` command: one file a command, imported when it is called, and the options that commands share."""
