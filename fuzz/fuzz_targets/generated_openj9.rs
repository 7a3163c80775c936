//! Verbose GC logs of elements as OpenJ9 writes them.

#![no_main]

use libfuzzer_sys::arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use pacenote_fuzz::generated_logs::openj9;
use pacenote_fuzz::openj9::check;

fuzz_target!(|data: &[u8]| {
    if let Ok(bytes) = openj9(&mut Unstructured::new(data)) {
        check(&bytes);
    }
});
