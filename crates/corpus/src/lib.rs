//! Corpora: from an archive or a seed to bulk bodies on the wire.
//!
//! Everything here is pure and synchronous: files and seeds in, bytes out; no clock, no network, no async.
//!
//! # Layout
//!
//! | file | what |
//! | --- | --- |
//! | [`unpack`](mod@unpack) | archives to the plain file, counting lines on the way: one file per kind |
//! | `offsets` | Rally's `<file>.offset` table: where every 50,000th line starts |
//! | [`lines`] | [`LineFile`]: a mapped ndjson file with that table |
//! | [`partition`] | which documents belong to which client (Rally's bounds) |
//! | [`bulk`] | [`BulkReader`]: bulk bodies of one client; the hot path of indexing |
//! | [`ids`] | [`Ids`]: action lines with ids that come again |
//! | [`generate`](mod@generate) | seeded generators, one file (or folder) each, and their registry |
//! | `splitmix` | [`SplitMix64`], the smallest of random generators |
//! | `output` | temporary file, disk guard, fsync and rename; shared by unpacking and generating |
//! | [`checksum`] | [`crc32c`] of a file |
//! | [`error`] | [`CorpusError`] |

pub mod bulk;
pub mod checksum;
pub mod error;
pub mod generate;
pub mod ids;
pub mod lines;
mod offsets;
mod output;
pub mod partition;
mod splitmix;
pub mod unpack;

pub use bulk::{ActionLines, BulkBody, BulkReader, Part};
pub use checksum::crc32c;
pub use error::CorpusError;
pub use generate::{
    FileSpec, GenerateProgress, Generated, GeneratedFile, Generator, Recipe, generate, generator,
};
pub use ids::{Conflicts, IdSeed, Ids};
pub use lines::LineFile;
pub use partition::{bounds, reading_order, share_of_bulks};
pub use splitmix::SplitMix64;
pub use unpack::{Archive, Packing, UnpackProgress, Unpacked, unpack};
