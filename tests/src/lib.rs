//! Shared parts of the end-to-end stories.
