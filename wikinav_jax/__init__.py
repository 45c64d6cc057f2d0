"""Agents that find, walk to, weigh and explain evidence in linked text, in JAX."""

__version__ = "0.1.0"
