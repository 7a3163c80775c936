"""What several test packages build on."""
