"""The training core: mesh, state, batches, checkpoints, metrics and the loop."""
