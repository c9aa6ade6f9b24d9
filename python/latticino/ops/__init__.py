"""Operations on encrypted CKKS arrays: layouts brought together, moves, sums, products, matrices, refreshing."""
