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
//! | [`line_file`] | [`LineFile`]: a mapped ndjson file with that table |
//! | [`partition`] | which documents belong to which client (Rally's bounds) |
//! | [`bulk`] | [`BulkReader`]: bulk bodies of one client; the hot path of indexing |
//! | [`ids`] | [`IdActionLines`]: action lines with ids that come again |
//! | [`generate`](mod@generate) | seeded generators, one file (or folder) each, and their registry |
//! | `writer` | writes a data file: disk space check, fsync, rename; for unpacking and generating |
//! | `temporary` | temporary files beside the file that they become |
//! | [`checksum`] | [`crc32c`] of a file |
//! | [`error`] | [`CorpusError`] |

pub mod bulk;
pub mod checksum;
pub mod error;
pub mod generate;
pub mod ids;
pub mod line_file;
mod offsets;
pub mod partition;
mod temporary;
pub mod unpack;
mod writer;

pub use bulk::{ActionLines, BulkBody, BulkReader, DocumentRange};
pub use checksum::crc32c;
pub use error::CorpusError;
pub use generate::{
    CorpusSpec, FileSpec, GenerateProgress, GeneratedCorpus, GeneratedFile, Generator, generate, generator,
};
pub use ids::{IdActionLines, IdConflicts, IdSeed};
pub use line_file::LineFile;
pub use partition::{bounds, reading_order, share_of_bulks};
pub use unpack::{Archive, Compression, UnpackProgress, Unpacked, unpack};
