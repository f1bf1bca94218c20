## Measured machines, installed.
