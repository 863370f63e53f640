"""The paper's experiments, scripted: `tuner bench paper` runs them and writes a page of claims beside measurements."""
