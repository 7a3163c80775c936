"""From the name of a track to its model: find, splice, render, parse."""
