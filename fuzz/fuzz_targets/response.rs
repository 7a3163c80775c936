//! Entire responses, with head and body, to GET and to HEAD: the result must not depend on how they are split.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pacenote_fuzz::{ReadResult, read_with_all_splits};

fuzz_target!(|bytes: &[u8]| {
    read_with_all_splits(bytes, false);
    if let ReadResult::Response { body, .. } = read_with_all_splits(bytes, true) {
        assert!(body.is_empty(), "a response to HEAD has a body");
    }
});
