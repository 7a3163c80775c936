"""What tracks, races and results are made of: frozen values without input or output."""
