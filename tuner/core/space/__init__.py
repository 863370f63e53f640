"""The settings a machine can take: parameters, constraints, and the one definition of a legal value."""
