"""Timings as paired ratios: each script prints a table and writes JSON."""
