//! Studies: the same comparison in many cells, each a workload, all under the same arms.

pub mod ahead; // how much of a study is left. Pure
pub mod axes; // lists of values that expand cells to a matrix. Pure
pub mod budget; // blocks and lengths that fit into a given time. Pure
pub mod builtin; // those that iosched brings
pub mod exact; // counts that every round must have
pub mod format; // the file that describes one
pub mod gate; // every cell held to the rules. Pure
pub mod joint; // what holds over all cells together. Pure
pub mod load; // what a cell runs
pub mod optional; // arms that some kernels lack
pub mod original; // the published comparisons, judged by their own data
pub mod pareto; // arms that no other beats. Pure
pub mod result; // the result file of a study
pub mod run; // all cells advance together
pub mod schema1; // results of the version before. Pure
pub mod suits;
pub mod times; // of its rounds // whether one can run on a simulated disk. Pure
