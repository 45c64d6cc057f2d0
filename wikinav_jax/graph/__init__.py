"""Linked texts as arrays on disk, and walks over them. NumPy and numba only, never jax."""
