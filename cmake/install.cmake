# Install rules and find_package support.
