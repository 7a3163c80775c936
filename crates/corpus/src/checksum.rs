//! CRC-32C (Castagnoli), the only checksum that Google Cloud Storage declares for files uploaded in pieces.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::CorpusError;

/// The polynomial, its bits reversed.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// Bytes read at once.
const READ_SIZE: usize = 1 << 20;

/// Table `k` is what a byte does to the sum when `k` more bytes follow it.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut entry = 256;
    while entry < 8 * 256 {
        let before = tables[entry / 256 - 1][entry % 256];
        tables[entry / 256][entry % 256] = (before >> 8) ^ tables[0][(before & 0xFF) as usize];
        entry += 1;
    }
    tables
}

/// The CRC-32C of a file.
///
/// # Errors
///
/// [`CorpusError::Read`].
pub fn crc32c(path: &Path) -> Result<u32, CorpusError> {
    let mut file = File::open(path).map_err(|cause| CorpusError::read(path, cause))?;
    let mut buffer = vec![0; READ_SIZE];
    let mut sum = !0;
    loop {
        let read = file.read(&mut buffer).map_err(|cause| CorpusError::read(path, cause))?;
        if read == 0 {
            return Ok(!sum);
        }
        sum = update(sum, &buffer[..read]);
    }
}

fn update(mut sum: u32, data: &[u8]) -> u32 {
    let (eights, rest) = data.as_chunks::<8>();
    for eight in eights {
        // The last byte has none after it, so it goes with the first table.
        let bytes = (u64::from_le_bytes(*eight) ^ u64::from(sum)).to_be_bytes();
        sum = TABLES.iter().zip(bytes).fold(0, |sum, (table, byte)| sum ^ table[usize::from(byte)]);
    }
    for byte in rest {
        let [low, ..] = sum.to_le_bytes();
        sum = (sum >> 8) ^ TABLES[0][usize::from(low ^ byte)];
    }
    sum
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_check_value_of_the_standard() {
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
    fn pieces_and_single_bytes_give_the_same() {
        let data: Vec<u8> = (0..1000_u32).map(|n| (n * 7 % 251).to_le_bytes()[0]).collect();
        let one_by_one = data.iter().fold(!0, |sum, byte| update(sum, &[*byte]));
        assert_eq!(update(!0, &data), one_by_one);
        assert_eq!(update(update(!0, &data[..13]), &data[13..]), one_by_one);
    }
}
