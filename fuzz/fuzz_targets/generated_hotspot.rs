//! Unified GC logs of lines as HotSpot writes them.

#![no_main]

use libfuzzer_sys::arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use pacenote_fuzz::generated_logs::hotspot;
use pacenote_fuzz::hotspot::check;

fuzz_target!(|data: &[u8]| {
    if let Ok(bytes) = hotspot(&mut Unstructured::new(data)) {
        check(&bytes);
    }
});
