"""All that needs no machine: judges, scripted runs, measurements, the paper's experiments, the demo."""
