//! Corpora: turns archives and seeds into data files, and data files into bulk bodies.
//!
//! All code is synchronous and depends only on files and seeds: there is no clock, no network and no async code.
//!
//! # Layout
//!
//! | file or folder | contains |
//! | --- | --- |
//! | [`unpack`](mod@unpack) | unpacks archives and counts their lines |
//! | `byte_source` | data that is read at any offset |
//! | `offsets` | the offset table of a data file, in Rally's format |
//! | [`line_file`] | [`LineFile`]: an ndjson file with its offset table |
//! | [`read_ahead`] | [`ReadAhead`]: reads data files into the page cache before they are needed |
//! | [`partition`] | determines which documents each client reads, as in Rally |
//! | [`bulk`] | [`BulkReader`]: builds the bulk bodies of one client, the hot path of indexing |
//! | [`ids`] | [`IdActionLines`]: action lines with ids, some of which repeat |
//! | [`generate`](mod@generate) | generates corpora from a seed; one file or folder per generator |
//! | `writer` | writes a data file, checking the disk space; syncs and renames it |
//! | `temporary` | temporary files in the folder of the file that they become |
//! | [`checksum`] | [`crc32c()`]: the checksum of a file |
//! | [`error`] | [`CorpusError`] |

pub mod bulk;
mod byte_source;
pub mod checksum;
pub mod error;
pub mod generate;
pub mod ids;
pub mod line_file;
mod offsets;
pub mod partition;
pub mod read_ahead;
mod temporary;
pub mod unpack;
mod writer;

pub use bulk::{ActionLines, BulkBody, BulkReader, DocumentRange};
pub use checksum::crc32c;
pub use error::CorpusError;
pub use generate::{
    CorpusSpec, FileSpec, GenerateProgress, GeneratedCorpus, GeneratedFile, Generator, generate, generator,
};
pub use ids::{IdActionLines, IdConflicts, IdStreamKey};
pub use line_file::{DiskWaits, LineFile, take_disk_waits};
pub use partition::{client_range, documents_in_share, reading_order};
pub use read_ahead::{FollowedReader, ReadAhead};
pub use unpack::{ArchiveKind, Compression, UnpackProgress, Unpacked, unpack};
