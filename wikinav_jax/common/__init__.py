"""The basement: files, progress bars and name suggestions. Imports nothing of the package."""
