//! Studies: files that describe them, and their runs, in which all cells advance together.

pub mod ahead; // how much of a study is left. Pure
pub mod axes; // lists of values that expand cells to a matrix. Pure
pub mod budget; // blocks and lengths that fit into a given time. Pure
pub mod builtin; // those that iosched brings
pub mod format; // the file that describes one
pub mod load; // what a cell runs
pub mod optional; // arms that some kernels lack
pub mod run; // all cells advance together
pub mod suits; // whether one can run on a simulated disk. Pure
