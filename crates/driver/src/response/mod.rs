//! Is a reply a success, and what does it say? Reads bytes; knows no connection.

pub mod check;
pub mod json_scan;
pub mod outcome;
