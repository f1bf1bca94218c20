## Transformer shapes, installed.
