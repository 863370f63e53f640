"""From an idea to a configuration: what every key means, and the questions whose answers make a file."""
