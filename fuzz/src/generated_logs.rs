//! GC logs of lines and elements as JVMs write them, in any order and number, with shared names.

use arbitrary::{Result, Unstructured};

/// Names that lines and elements share: causes, kinds, operations, threads and policies.
const NAMES: [&str; 10] = [
    "G1 Evacuation Pause",
    "System.gc()",
    "Normal",
    "Mixed",
    "Concurrent Start",
    "scavenge",
    "global",
    "((",
    "a) (b",
    "",
];

/// Lines of `HotSpot`: `#` is a number, `@` a name, and `~` a size such as `12M`.
const LINES: [&str; 40] = [
    "Using G1",
    "Using Parallel",
    "Using Shenandoah",
    "Initializing The Z Garbage Collector",
    "Version: @",
    "CPUs: @",
    "Memory: ~",
    "Heap Region Size: ~",
    "Heap Max Capacity: ~",
    "Parallel Workers: #",
    "GC(#) Pause Young (@) (@) ~->~(~) #.#ms",
    "GC(#) Pause Young (@) (@)",
    "GC(#) Pause Full (@) ~->~(~) #.#ms",
    "GC(#) Pause Degenerated GC (@) ~->~(~) #.#ms",
    "GC(#) Pause Remark ~->~(~) #.#ms",
    "GC(#) Pause Init Mark (@) #.#ms",
    "GC(#) y: Pause Mark Start #.#ms",
    "GC(#) Concurrent Mark Cycle #.#ms",
    "GC(#) Concurrent cleanup (Young) ~->~(~) #.#ms",
    "GC(#) Concurrent Mark Abort",
    "GC(#) Eden regions: #->#(#)",
    "GC(#) Survivor regions: #->#(#)",
    "GC(#) Old regions: #->#",
    "GC(#) DefNew: ~(~)->~(~)",
    "GC(#) Tenured: ~(~)->~(~)",
    "GC(#) - age #: # bytes, # total",
    "GC(#) Desired survivor size # bytes, new threshold # (max threshold #)",
    "GC(#) User=#.#s Sys=#.#s Real=#.#s",
    "GC(#) Garbage Collection (@) ~(#%)->~(#%)",
    "GC(#) Y: Young Generation ~(#%)->~(#%)",
    "GC(#) Used: ~ (#%) ~ (#%) ~ (#%) ~ (#%)",
    "GC(#) Allocated: - - - ~ (#%)",
    "Allocation Stall (@) #.#ms",
    "Safepoint \"@\", Time since last: # ns, Reaching safepoint: # ns, Total: # ns",
    "Entering safepoint region: @",
    "GC(#) Minor Collection (@) ~(#%)->~(#%) #.#s",
    "GC(#) Pause Remark ~->~(~) @",
    "GC(#) Reclaimed: - - ~ (#%) ~ (#%)",
    "   # messages dropped due to async logging",
    "Total time for which application threads were stopped: #.# seconds, Stopping threads took: #.# seconds",
];

/// Tags of OpenJ9, with the same placeholders, and `%` for a timestamp.
const TAGS: [&str; 34] = [
    "<verbosegc version=\"@\">",
    "</verbosegc>",
    "<initialized id=\"1\" timestamp=\"%\">",
    "<attribute name=\"gcPolicy\" value=\"-Xgcpolicy:@\" />",
    "<attribute name=\"os\" value=\"@\" />",
    "<attribute name=\"osVersion\" value=\"@\" />",
    "<attribute name=\"maxHeapSize\" value=\"0x#\" />",
    "<vmarg name=\"-X@#\" />",
    "<exclusive-start id=\"#\" timestamp=\"%\" intervalms=\"#.#\">",
    "<response-info timems=\"#.#\" idlems=\"#.#\" />",
    "<exclusive-end id=\"#\" timestamp=\"%\" durationms=\"#.#\" />",
    "<af-start id=\"#\" totalBytesRequested=\"#\" timestamp=\"%\" type=\"@\" />",
    "<af-end />",
    "<sys-start reason=\"@\" />",
    "<cycle-start type=\"@\" intervalms=\"#.#\" />",
    "<cycle-end type=\"@\" />",
    "<gc-start type=\"@\">",
    "<gc-end type=\"@\" durationms=\"#.#\" usertimems=\"#.#\" systemtimems=\"#.#\">",
    "</gc-end>",
    "<mem-info free=\"#\" total=\"#\">",
    "<mem type=\"tenure\" free=\"#\" total=\"#\">",
    "</mem-info>",
    "<gc-op type=\"@\" timems=\"#.#\">",
    "<memory-copied type=\"nursery\" bytes=\"#\" />",
    "<memory-copied type=\"tenure\" bytes=\"#\" />",
    "<allocation-stats totalBytes=\"#\">",
    "<allocated-bytes non-tlh=\"#\" tlh=\"#\" />",
    "<largest-consumer threadName=\"@#\" bytes=\"#\" />",
    "<scavenger-info tenureage=\"#\" tiltratio=\"#\" />",
    "<percolate-collect /><concurrent-aborted />",
    "<concurrent-end type=\"@\" timestamp=\"%\">",
    "<warning details=\"remembered set overflow detected\" />",
    "<copy-failed objects=\"#\" />",
    "<!-- @ --><![CDATA[@]]>",
];

/// Returns a unified log of `HotSpot`.
///
/// # Errors
///
/// None in practice: data that has ended yields zeros.
pub fn hotspot(data: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut log = String::new();
    let (mut uptime_ms, form) = (0_u64, data.int_in_range(0..=3)?);
    for _ in 0..data.int_in_range(1..=150)? {
        uptime_ms = uptime_ms.wrapping_add(u64::from(data.arbitrary::<u16>()?) % 3000);
        let seconds = format!("{}.{:03}", uptime_ms / 1000, uptime_ms % 1000);
        match form {
            0 => log.push_str(&format!("[{seconds}s][info][gc] ")),
            1 => log.push_str(&format!("[2026-11-23T20:37:{:02}.{:03}+0000][{seconds}s][info] ", uptime_ms / 1000 % 60, uptime_ms % 1000)),
            2 => log.push_str(&format!("[{seconds}s][{}][gc] ", data.int_in_range(1..=80)?)),
            _ => {
                let wall = if data.ratio(1, 8)? { number(data)? } else { 1_795_466_258_625 + uptime_ms };
                log.push_str(&format!("[{wall}ms] "));
            }
        }
        let line = *data.choose(&LINES)?;
        fill(data, line, &mut log)?;
        log.push('\n');
    }
    Ok(log.into_bytes())
}

/// Returns a verbose log of OpenJ9.
///
/// # Errors
///
/// None in practice: data that has ended yields zeros.
pub fn openj9(data: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut log = String::new();
    for _ in 0..data.int_in_range(1..=150)? {
        let tag = *data.choose(&TAGS)?;
        // Many elements in each other, none of which ends.
        let count = if data.ratio(1, 32)? { 20 } else { 1 };
        for _ in 0..count {
            fill(data, tag, &mut log)?;
        }
        if data.ratio(1, 2)? {
            log.push('\n');
        }
    }
    Ok(log.into_bytes())
}

fn fill(data: &mut Unstructured<'_>, template: &str, log: &mut String) -> Result<()> {
    for character in template.chars() {
        match character {
            '#' => log.push_str(&number(data)?.to_string()),
            '@' if data.ratio(1, 16)? => log.push_str(&"n".repeat(700)),
            '@' => log.push_str(data.choose(&NAMES)?),
            '~' => log.push_str(&format!("{}{}", number(data)?, data.choose(&["B", "K", "M", "G", "T"])?)),
            '%' => {
                let (hour, minute, second) =
                    (data.int_in_range(0..=23)?, data.int_in_range(0..=59)?, data.int_in_range(0..=59)?);
                log.push_str(&format!("2021-03-16T{hour:02}:{minute:02}:{second:02}.012"));
            }
            other => log.push(other),
        }
    }
    Ok(())
}

fn number(data: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match data.int_in_range(0..=15)? {
        0 => data.arbitrary()?,
        1 => u64::from(data.arbitrary::<u32>()?),
        _ => data.int_in_range(0..=40)?,
    })
}
