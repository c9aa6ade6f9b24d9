"""What both schemes use: devices, argument checks, layouts, tables for notebooks, progress, bundles of many clients."""
