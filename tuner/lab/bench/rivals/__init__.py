"""Published rivals on the same duels: how far they come, and how long they take."""
