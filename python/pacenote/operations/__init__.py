"""Operation types, one file each; `registry` finds them, `base` says what they must offer."""
