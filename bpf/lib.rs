//! The kernel side.
