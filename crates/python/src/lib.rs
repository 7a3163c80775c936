//! Placeholder while the skeleton is laid.
