"""The tables and figures of the papers that this library follows, a module for each paper.

``docs/make_papers.py`` writes docs/papers.md from them. Texts are in our words. A paper's figures stand here as the paper
prints them; ours are read from bench/records, and what was measured of others from references.json.
"""

from . import bitpacker, chameleon, cheddar, cheddar_first, theodosian

PAPERS = (cheddar.PAPER, cheddar_first.PAPER, theodosian.PAPER, chameleon.PAPER, bitpacker.PAPER)
