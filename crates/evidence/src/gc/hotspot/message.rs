//! A message, as the readers get it.

/// A message without its prefixes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    /// When its line was written; 0 if the line has no time.
    pub(super) at_ns: u64,
    /// The number of the collection.
    pub(super) id: u64,
    /// The generation in the notation of ZGC: `y`, `Y` (of a major collection) or `O`; a space if there is none.
    pub(super) generation: u8,
    /// The text after the prefixes.
    pub(super) text: &'a [u8],
}
