//! Measures how often the steady-state check is right, on series whose levels are known. The first two tables are those
//! of `docs/measuring.md`.
//!
//! `cargo run --release -p pacenote-stats --example steady`

#![allow(clippy::print_stdout, reason = "a program that prints a table")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the program creates only small numbers"
)]

use pacenote_stats::{Steadiness, SteadyState, TaskSecond};

/// Number of series of each kind.
const SERIES: u32 = 1000;

/// Random numbers from a seed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Returns a uniformly distributed number between 0 and 1.
    fn share(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Returns a number from the standard normal distribution.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// A level as a function of the elapsed fraction of the task.
type Shape = fn(f64) -> f64;

/// A kind of noise with standard deviation 1.
#[derive(Clone, Copy)]
enum Noise {
    /// First-order autoregressive: each value contains this fraction of the previous one.
    Autoregressive(f64),
    /// Student's t with three degrees of freedom: heavy tails.
    Heavy,
    /// Half independent noise, half a slow wave in which each value contains 0.8 of the previous one.
    Mixed,
}

/// A kind of noise, and its standard deviation.
#[derive(Clone, Copy)]
struct NoiseLevel {
    kind: Noise,
    deviation: f64,
}

/// The labels that the series were given.
struct Labels {
    /// Percentage of series with each label: steady, warming, slowing, not steady, unknown.
    shares: [f64; 5],
    /// Times in seconds from which the series that settled were steady, in ascending order.
    since: Vec<f64>,
}

fn noise(kind: Noise, count: usize, random: &mut Random) -> Vec<f64> {
    let wave = |share: f64, random: &mut Random| {
        let mut value = random.normal();
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            value = share * value + (1.0 - share * share).sqrt() * random.normal();
            values.push(value);
        }
        values
    };
    match kind {
        Noise::Autoregressive(share) => wave(share, random),
        Noise::Heavy => {
            let mut one = || {
                let squares: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
                random.normal() / (squares / 3.0).sqrt() / 3.0_f64.sqrt()
            };
            (0..count).map(|_| one()).collect()
        }
        Noise::Mixed => {
            let slow = wave(0.8, random);
            slow.iter().map(|slow| (slow + random.normal()) / 2.0_f64.sqrt()).collect()
        }
    }
}

/// Labels many series that have the same level and noise.
fn labels(count: usize, noise_of: NoiseLevel, shape: Shape, pause: bool) -> Labels {
    let NoiseLevel { kind, deviation } = noise_of;
    let mut random = Random(42);
    let (mut seen, mut since) = ([0.0; 5], Vec::new());
    for _ in 0..SERIES {
        let noise = noise(kind, count, &mut random);
        let mut seconds: Vec<TaskSecond> = (0..count)
            .map(|second| {
                let level = shape(second as f64 / count as f64) * (deviation * noise[second]).exp();
                let time = 10.0 / level;
                TaskSecond {
                    operations: 1000,
                    weight: (10_000.0 * level) as u64,
                    service_ms: Some(time),
                    ..TaskSecond::default()
                }
            })
            .collect();
        if pause {
            // Three pauses of one second and one of two seconds.
            for (start, length) in [(0.21, 1), (0.43, 1), (0.67, 2), (0.89, 1)] {
                let first = (start * count as f64) as usize;
                for second in &mut seconds[first..first + length] {
                    *second = TaskSecond { weight: second.weight / 5, service_ms: Some(50.0), ..*second };
                }
            }
        }
        let found = Steadiness::of(&seconds, 0..count, false);
        since.extend(found.since_s);
        match found.state {
            SteadyState::Steady => seen[0] += 1.0,
            SteadyState::Warming => seen[1] += 1.0,
            SteadyState::Slowing => seen[2] += 1.0,
            SteadyState::NotSteady => seen[3] += 1.0,
            SteadyState::Unknown => seen[4] += 1.0,
        }
    }
    since.sort_by(f64::total_cmp);
    Labels { shares: seen.map(|seen| 100.0 * seen / f64::from(SERIES)), since }
}

/// Prints the table of flat series in `docs/measuring.md`: the percentage that is labelled with a change.
fn print_flat() {
    println!("| noise | 20 s | 60 s | 120 s | 300 s | 600 s | 3,600 s |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (name, kind) in [
        ("independent", Noise::Autoregressive(0.0)),
        ("autocorrelated, AR(1) with 0.6", Noise::Autoregressive(0.6)),
        ("autocorrelated, AR(1) with 0.8", Noise::Autoregressive(0.8)),
        ("heavy tails (t, 3 degrees)", Noise::Heavy),
        ("half independent, half a slow wave", Noise::Mixed),
    ] {
        print!("| {name} |");
        for count in [20, 60, 120, 300, 600, 3600] {
            let Labels { shares, .. } = labels(count, NoiseLevel { kind, deviation: 0.05 }, |_| 1.0, false);
            let [_, warming, slowing, not, unknown] = shares;
            let rest = if unknown < 0.5 { String::new() } else { format!(" ({unknown:.0})") };
            print!(" {:.1} %{rest} |", warming + slowing + not);
        }
        println!();
    }
}

/// Prints the table of changes in `docs/measuring.md`: the percentage with the correct label, with noise of 2 % and 5
/// %.
fn print_changes() {
    println!("\n| shape | 60 s | 120 s | 600 s |");
    println!("| --- | --- | --- | --- |");
    let shapes: [(&str, Shape, bool, usize); 7] = [
        ("warm-up from 80 %, over the first quarter", |x| 1.0 - 0.2 * (1.0 - 4.0 * x).max(0.0), false, 1),
        ("warm-up from 80 %, exponential, time constant 10 %", |x| 1.0 - 0.2 * (-10.0 * x).exp(), false, 1),
        ("drift down by 10 % over the task", |x| 1.0 - 0.1 * x, false, 2),
        ("step up by 10 % in the middle", |x| if x < 0.5 { 1.0 } else { 1.1 }, false, 1),
        ("up and down by 15 %, twice", |x| if x % 0.5 < 0.25 { 1.0 } else { 0.85 }, false, 3),
        ("step up by 3 %: steady", |x| if x < 0.5 { 1.0 } else { 1.03 }, false, 0),
        ("flat, with pauses of one and two seconds: steady", |_| 1.0, true, 0),
    ];
    for (name, shape, pause, correct) in shapes {
        print!("| {name} |");
        for count in [60, 120, 600] {
            let share = |deviation| {
                let noise = NoiseLevel { kind: Noise::Autoregressive(0.6), deviation };
                labels(count, noise, shape, pause).shares[correct]
            };
            print!(" {:.0} %, {:.0} % |", share(0.02), share(0.05));
        }
        println!();
    }
    println!();
}

fn main() {
    print_flat();
    print_changes();
    print_all();
}

/// Prints the labels for more kinds of noise, deviations and lengths, from which the constants were chosen.
fn print_all() {
    let noises = [
        ("independent", Noise::Autoregressive(0.0)),
        ("AR 0.3", Noise::Autoregressive(0.3)),
        ("AR 0.6", Noise::Autoregressive(0.6)),
        ("AR 0.8", Noise::Autoregressive(0.8)),
        ("t3", Noise::Heavy),
        ("mixed", Noise::Mixed),
    ];
    println!("flat series: % labelled with a change (and % unknown)");
    for (name, kind) in noises {
        for deviation in [0.02, 0.05, 0.10, 0.20] {
            print!("{name:12} sd {deviation:.2}:");
            for count in [20, 30, 60, 120, 300, 600, 3600] {
                let Labels { shares: [steady, .., unknown], .. } =
                    labels(count, NoiseLevel { kind, deviation }, |_| 1.0, false);
                print!("  {count} s {:4.1} ({unknown:3.0})", 100.0 - steady - unknown);
            }
            println!();
        }
    }
    let shapes: [(&str, Shape, bool); 9] = [
        ("flat with pauses", |_| 1.0, true),
        ("warm-up, 20 % over the first quarter", |x| 1.0 - 0.2 * (1.0 - 4.0 * x).max(0.0), false),
        ("warm-up, exponential, 20 %, time constant 10 %", |x| 1.0 - 0.2 * (-10.0 * x).exp(), false),
        ("drift down by 10 %", |x| 1.0 - 0.1 * x, false),
        ("drift down by 3 %", |x| 1.0 - 0.03 * x, false),
        ("step up by 10 % in the middle", |x| if x < 0.5 { 1.0 } else { 1.1 }, false),
        ("step down by 10 % at two thirds", |x| if x < 0.667 { 1.0 } else { 0.9 }, false),
        ("step up by 3 % in the middle", |x| if x < 0.5 { 1.0 } else { 1.03 }, false),
        ("up and down by 15 %, twice", |x| if x % 0.5 < 0.25 { 1.0 } else { 0.85 }, false),
    ];
    println!(
        "\n% labelled steady / warming / slowing / not steady / unknown, and the median start of the steady part"
    );
    for (name, shape, pause) in shapes {
        for (noise, kind) in [noises[0], noises[2]] {
            for deviation in [0.02, 0.05] {
                print!("{name:48} {noise:12} sd {deviation:.2}:");
                for count in [60, 120, 600] {
                    let Labels { shares: [steady, warming, slowing, not, unknown], since } =
                        labels(count, NoiseLevel { kind, deviation }, shape, pause);
                    let from =
                        since.get(since.len() / 2).map_or("-".to_owned(), |since| format!("{since:.0}"));
                    print!("  {count} s {steady:.0}/{warming:.0}/{slowing:.0}/{not:.0}/{unknown:.0} {from}");
                }
                println!();
            }
        }
    }
}
