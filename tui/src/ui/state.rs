//! The state of the screens and what a key does to it: action -> `update` -> model and effects. No clock, no I/O, no
//! lock.

pub mod action;
pub mod appearance;
pub mod axis;
pub mod chosen;
pub mod compare;
mod dialog;
pub mod heat;
pub mod keymap;
pub mod keys;
pub mod load;
pub mod model;
pub mod past;
pub mod reports;
pub mod rows;
pub mod update;
pub mod words;
