"""All that needs no machine: problems, judges, scripted runs, measurements, the paper's experiments, the demo."""
