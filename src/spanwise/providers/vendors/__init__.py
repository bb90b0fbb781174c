"""What all models of a vendor share: names, keys, connections, limits, further calls, prices."""
