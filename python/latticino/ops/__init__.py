"""Operations on encrypted CKKS arrays: bringing layouts together, moving values, sums, products, matrices,
bootstrapping."""
