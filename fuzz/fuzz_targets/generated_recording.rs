//! Recordings that are well-formed, of types that no JVM describes.

#![no_main]

use libfuzzer_sys::arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use pacenote_fuzz::generated_recording::generate;
use pacenote_fuzz::recording::check;

fuzz_target!(|data: &[u8]| {
    if let Ok(bytes) = generate(&mut Unstructured::new(data)) {
        check(&bytes);
    }
});
