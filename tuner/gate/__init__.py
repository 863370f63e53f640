"""The only road to a machine: which settings may be sent, by which moves, and where the machine may be."""
