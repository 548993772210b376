//! Things that a user chooses by name, each one row of a table.

/// A row: what is typed, what help says of it, and what it is.
pub struct Named<T: 'static> {
    pub name: &'static str,
    pub about: &'static str,
    pub it: T,
}

impl<T> Named<T> {
    pub const fn new(name: &'static str, about: &'static str, it: T) -> Named<T> {
        Named { name, about, it }
    }
}
