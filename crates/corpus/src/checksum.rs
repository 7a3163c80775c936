//! CRC-32C (Castagnoli), the only checksum that Google Cloud Storage provides for files uploaded in parts.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::CorpusError;

/// Number of bytes per read.
const READ_SIZE: usize = 1 << 20;

/// Computes the CRC-32C of a file.
///
/// # Errors
///
/// [`CorpusError::Read`] if the file cannot be opened or read.
pub fn crc32c(path: &Path) -> Result<u32, CorpusError> {
    let mut file = File::open(path).map_err(|cause| CorpusError::read(path, cause))?;
    let mut buffer = vec![0; READ_SIZE];
    let mut checksum = 0;
    loop {
        let length = file.read(&mut buffer).map_err(|cause| CorpusError::read(path, cause))?;
        if length == 0 {
            return Ok(checksum);
        }
        checksum = crc32c::crc32c_append(checksum, &buffer[..length]);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn matches_the_check_values_of_rfc_3720() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        for (content, expected) in [
            (b"123456789".to_vec(), 0xE306_9283),
            (vec![0; 32], 0x8A91_36AA),
            (vec![0xFF; 32], 0x62A8_AB43),
            (Vec::new(), 0),
        ] {
            std::fs::write(&file, content).unwrap();
            assert_eq!(crc32c(&file).unwrap(), expected);
        }
        assert!(matches!(crc32c(&folder.path().join("none")), Err(CorpusError::Read { .. })));
    }

    #[test]
    fn the_checksum_covers_a_file_of_several_reads() {
        let data: Vec<u8> = (0..3 * READ_SIZE + 13).map(|n| (n * 7 % 251).to_le_bytes()[0]).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &data).unwrap();
        assert_eq!(crc32c(file.path()).unwrap(), crc32c::crc32c(&data));
    }
}
