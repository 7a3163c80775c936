//! The fields of constants that are read.

use super::layout::NeededField;

/// Slot of the name.
pub(super) const NAME: usize = 0;
/// Slot of the class of a method.
pub(super) const TYPE: usize = 1;
/// Slot of the name of a thread in the operating system.
pub(super) const OS_NAME: usize = 2;
/// Slot of the id of a thread in the operating system.
pub(super) const OS_ID: usize = 3;
/// Slot of the name of a thread in Java.
pub(super) const JAVA_NAME: usize = 4;
/// Slot of the id of a thread in Java.
pub(super) const JAVA_ID: usize = 5;
/// Slot of the mark of virtual threads.
pub(super) const VIRTUAL: usize = 6;
/// Slot of the mark of stacks that were deeper.
pub(super) const TRUNCATED: usize = 7;
/// Slot of the frames of a stack.
pub(super) const FRAMES: usize = 8;
/// Slot of the method of a frame.
pub(super) const METHOD: usize = 9;
/// Slot of the line of a frame.
pub(super) const LINE: usize = 10;
/// Slot of the kind of a frame.
pub(super) const FRAME_TYPE: usize = 11;

/// What is needed of constants, whatever their type is.
pub(super) const NEEDED: &[NeededField] = &[
    ("name", NAME),
    ("type", TYPE),
    ("osName", OS_NAME),
    ("osThreadId", OS_ID),
    ("javaName", JAVA_NAME),
    ("javaThreadId", JAVA_ID),
    ("virtual", VIRTUAL),
    ("truncated", TRUNCATED),
    ("frames", FRAMES),
    ("frames.method", METHOD),
    ("frames.lineNumber", LINE),
    ("frames.type", FRAME_TYPE),
];
