//! Whole replies, head and body, to GET and to HEAD: the same however they are cut.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pacenote_fuzz::{Seen, receive_anyhow};

fuzz_target!(|bytes: &[u8]| {
    receive_anyhow(bytes, false);
    if let Seen::Reply { body, .. } = receive_anyhow(bytes, true) {
        assert!(body.is_empty(), "a reply to HEAD has no body");
    }
});
