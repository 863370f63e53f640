"""The exact posterior of the paper and its rivals: observations, kernels, evidence, samplers."""
