"""Python that comes with a track: loaded, registered, and run beside the driver."""
