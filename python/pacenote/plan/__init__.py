"""From a track and a challenge to the plan document that the driver runs."""
