"""Products of two encrypted matrices in networks: how their values lie, and which maps bring them there."""
