"""VAE encode on the ladder: what of it is encode's own. The ladder itself stands in ``headroom/tensors/ladder``."""
