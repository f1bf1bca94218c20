## Sources of the layer llm.
