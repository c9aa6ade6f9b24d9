"""Files and bytes: the objects of both schemes, notes, bundles, signatures, secrets."""
