## Tests of the layer search.
