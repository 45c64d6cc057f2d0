"""The debate room: two agents argue for and against a triple, and a judge decides (R2D2)."""
