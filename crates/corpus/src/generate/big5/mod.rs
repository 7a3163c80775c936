//! `big5`: system logs of many machines over two weeks, in eight files of the same kind.
//!
//! With 1,000 documents or more, the operations of the track find
//!
//! - documents in every hour from 30 December 2022 to 12 January 2023;
//! - the processes `kernel` and `systemd`;
//! - the streams (and log files) `fuschiashoulder`, `solarshark`, `birdknight` and `indigodagger`;
//! - messages with the host 50-136-239-27, and messages with `monkey`, `jackal` or `bear`, some of the latter on the
//!   morning of 3 January;
//! - metric sizes from 1 to 2000.

mod vocabulary;

use std::io::{self, Write};

use super::append::{date, number, padded, text, time, time_millis};
use super::documents::{self, Documents, Periodic};
use super::generator::{FileSpec, Generator};
use super::prose::Words;
use super::random::{Random, WeightTable};
use super::split::split;
use vocabulary::{ANIMALS, FIRST, LAST, NOUNS, PROCESSES, REGIONS, WANTED};

const VERSION: u32 = 1;

/// Number of documents in each file of the public corpus.
const FILES: [u64; 8] =
    [139_000_967, 157_534_429, 138_860_135, 155_215_122, 135_967_215, 142_025_858, 145_339_293, 157_897_411];

/// 30 December 2022 in milliseconds since 1970, and two weeks in milliseconds.
const START: u64 = 1_672_358_400_000;
const SPAN: u64 = 14 * 86_400_000;

/// Number of log streams, besides those that queries search for.
const STREAMS: usize = 1500;

/// Documents that are given, in turn, one of the log streams that queries search for.
const STREAM: Periodic = Periodic { period: 29, first: 11 };

/// Documents that are given, in turn, one of the animals that queries search for.
const ANIMAL: Periodic = Periodic { period: 13, first: 0 };

/// Documents with the host that a query searches for.
const HOST: Periodic = Periodic { period: 331, first: 19 };

struct Logs {
    documents: u64,
    words: Words,
    streams: Vec<String>,
    stream: WeightTable,
    process: WeightTable,
    region: WeightTable,
}

impl Logs {
    fn new(documents: u64) -> Self {
        let named = |index: usize| format!("{}{}", FIRST[index % FIRST.len()], LAST[index * 7 % LAST.len()]);
        let words = NOUNS.split_whitespace();
        Self {
            documents,
            words: Words::zipf(words, 40),
            streams: (0..STREAMS).map(named).collect(),
            stream: WeightTable::zipf(STREAMS, 20),
            process: WeightTable::zipf(PROCESSES.len(), 1),
            region: WeightTable::zipf(REGIONS.len(), 3),
        }
    }

    fn name<'a>(&'a self, index: u64, random: &mut Random) -> &'a str {
        match STREAM.occurrence(index) {
            Some(turn) => WANTED[usize::try_from(turn % WANTED.len() as u64).unwrap_or(0)],
            None => &self.streams[self.stream.draw(random)],
        }
    }

    /// Returns a name in the style of a stream; hosts, agents and events have such names too.
    fn stream_name(&self, random: &mut Random) -> &str {
        random.one_of::<String>(&self.streams)
    }

    fn message(&self, (index, millis): (u64, u64), process: &str, random: &mut Random, out: &mut Vec<u8>) {
        time_millis(out, millis);
        text(out, if millis < 1_672_531_200_000 { "Z Dec " } else { "Z Jan " });
        let start = out.len();
        time(out, millis / 1000, b' ');
        // Keeps the day and time without the year and month: `05 12:00:00` of 2023-01-05 12:00:00.
        out.drain(start..start + 8);
        text(out, " ip-");
        if HOST.matches(index) {
            text(out, "50-136-239-27");
        } else {
            let bits = random.next();
            for octet in 0..4 {
                text(out, if octet == 0 { "" } else { "-" });
                number(out, (bits >> (8 * octet)) & 0xff);
            }
        }
        out.push(b' ');
        text(out, process);
        text(out, ": ");
        let animal = ANIMAL.occurrence(index);
        if let Some(turn) = animal {
            text(out, ANIMALS[usize::try_from(turn % ANIMALS.len() as u64).unwrap_or(0)]);
            out.push(b' ');
        }
        self.words.several(random.within(10..30), random, out);
        out.push(b' ');
        text(out, self.stream_name(random));
    }
}

/// Appends a random UUID.
fn uuid(bits: (u64, u64), out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let (mut high, mut low) = bits;
    for at in 0..32 {
        if matches!(at, 8 | 12 | 16 | 20) {
            out.push(b'-');
        }
        out.push(DIGITS[(high & 15) as usize]);
        high = (high >> 4) | (low << 60);
        low >>= 4;
    }
}

impl Documents for Logs {
    fn append(&self, index: u64, random: &mut Random, out: &mut Vec<u8>) {
        let share =
            u64::try_from(u128::from(index) * u128::from(SPAN) / u128::from(self.documents)).unwrap_or(0);
        let millis = START + share;
        let process = PROCESSES[self.process.draw(random)];
        let stream = self.name(index, random);
        let shown = millis + random.within(0..5_000);
        text(out, "{\"message\": \"");
        self.message((index, shown), process, random, out);
        text(out, "\", \"process\": {\"name\": \"");
        text(out, process);
        text(out, "\"}, \"aws.cloudwatch\": {\"ingestion_time\": \"");
        time_millis(out, shown);
        text(out, "Z\", \"log_group\": \"/var/log/messages\", \"log_stream\": \"");
        text(out, stream);
        text(out, "\"}, \"tags\": [\"preserve_original_event\"], \"meta\": {\"file\": \"");
        date(out, millis / 86_400_000);
        out.push(b'/');
        // There is a file of raw logs for every ten minutes.
        number(out, millis / 600_000 * 600 + 301);
        text(out, "-gotext.ndjson.gz\"}, \"cloud\": {\"region\": \"");
        text(out, REGIONS[self.region.draw(random)]);
        text(out, "\"}, \"@timestamp\": \"");
        time(out, millis / 1000, b'T');
        text(out, ".000Z\", \"input\": {\"type\": \"aws-cloudwatch\"}, \"metrics\": {\"tmin\": ");
        number(out, random.within(1..1000));
        text(out, ", \"size\": ");
        number(out, random.within(1..2001));
        text(out, "}, \"log.file.path\": \"/var/log/messages/");
        text(out, stream);
        text(out, "\", \"event\": {\"id\": \"");
        text(out, self.stream_name(random));
        text(out, "\", \"dataset\": \"generic\", \"ingested\": \"2023-07-20T03:36:30.");
        padded(out, random.within(0..1_000_000), 6);
        text(out, "Z\"}, \"agent\": {\"id\": \"");
        let agent = (random.next(), random.next());
        uuid(agent, out);
        text(out, "\", \"name\": \"");
        text(out, self.stream_name(random));
        text(out, "\", \"ephemeral_id\": \"");
        uuid(agent, out);
        text(out, "\", \"type\": \"filebeat\", \"version\": \"8.8.0\"}}\n");
    }
}

/// Generates the corpus.
pub(super) struct Big5;

impl Generator for Big5 {
    fn name(&self) -> &'static str {
        "big5"
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn files(&self, documents: u64) -> Vec<FileSpec> {
        let shares = (1..).zip(split(documents, &FILES));
        shares
            .map(|(number, documents)| FileSpec { name: format!("logs-{number}.ndjson"), documents })
            .collect()
    }

    fn write(&self, file: &FileSpec, seed: u64, threads: usize, sink: &mut dyn Write) -> io::Result<()> {
        let logs = Logs::new(file.documents);
        documents::write(&logs, file.documents, documents::streams(seed, VERSION, file), threads, sink)
    }
}
