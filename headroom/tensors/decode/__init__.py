"""VAE decode on the ladder: what of it is decode's own. The ladder itself stands in ``headroom/tensors/ladder``."""
