## Tests of the layer llm.
