"""The verdict on a race: rules for the finished record, each of which may find a reason to doubt it."""
