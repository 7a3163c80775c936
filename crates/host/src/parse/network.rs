//! `/proc/net/*` and `/proc/softirqs`: traffic, drops, retransmissions, and how its processing is spread over CPUs.

use crate::reading::{Field, KernelUnits, Receive, number};

const fn bytes(name: &'static str) -> Field {
    Field::counter("", name).with_unit("B")
}

/// The columns of `/proc/net/dev` that are read, by their position after the name of the interface.
static INTERFACE: [(usize, Field); 8] = [
    (0, bytes("network.received_bytes")),
    (1, Field::counter("", "network.received_packets")),
    (2, Field::counter("", "network.receive_errors")),
    (3, Field::counter("", "network.receive_drops")),
    (8, bytes("network.sent_bytes")),
    (9, Field::counter("", "network.sent_packets")),
    (10, Field::counter("", "network.send_errors")),
    (11, Field::counter("", "network.send_drops")),
];

/// Number of columns of an interface.
const INTERFACE_COLUMNS: usize = 16;

/// Parses `/proc/net/dev`. Interfaces that have never been used are left out.
pub fn dev(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    for line in text.lines() {
        let Some((name, values)) = line.split_once(':') else { continue };
        let mut columns = [0.0; INTERFACE_COLUMNS];
        let mut count = 0;
        for (column, value) in columns.iter_mut().zip(values.split_ascii_whitespace().map_while(number)) {
            *column = value;
            count += 1;
        }
        let (name, is_used) = (name.trim(), columns.iter().any(|value| *value > 0.0));
        if count < INTERFACE_COLUMNS || name.is_empty() || !is_used {
            continue;
        }
        for (position, field) in &INTERFACE {
            receive(field.reading(Some(("interface", name)), columns[*position]));
        }
    }
}

static TCP: [Field; 12] = [
    Field::gauge("CurrEstab", "tcp.established"),
    Field::counter("InSegs", "tcp.received_segments"),
    Field::counter("OutSegs", "tcp.sent_segments"),
    Field::counter("RetransSegs", "tcp.retransmissions"),
    Field::counter("InErrs", "tcp.receive_errors"),
    Field::counter("OutRsts", "tcp.sent_resets"),
    Field::counter("ListenOverflows", "tcp.listen_overflows"),
    Field::counter("ListenDrops", "tcp.listen_drops"),
    Field::counter("TCPTimeouts", "tcp.timeouts"),
    Field::counter("TCPRcvQDrop", "tcp.receive_queue_drops"),
    Field::counter("TCPBacklogDrop", "tcp.backlog_drops"),
    Field::counter("TCPRcvCollapsed", "tcp.receive_collapses"),
];

/// Parses `/proc/net/snmp` and `/proc/net/netstat`, which have a line of names before each line of values.
pub fn protocols(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    let mut lines = text.lines();
    while let Some(names) = lines.next() {
        let protocol = names.split(' ').next().unwrap_or_default();
        if !matches!(protocol, "Tcp:" | "TcpExt:") {
            continue;
        }
        let Some(values) = lines.next().filter(|values| values.starts_with(protocol)) else { return };
        let pairs = names.split_ascii_whitespace().zip(values.split_ascii_whitespace());
        for (name, value) in pairs.skip(1) {
            if let Some(field) = TCP.iter().find(|field| field.key == name)
                && let Some(value) = number(value)
            {
                receive(field.reading(None, value));
            }
        }
    }
}

const fn packets(name: &'static str) -> Field {
    Field::counter("", name).counted_in_32_bits()
}

/// The columns of `/proc/net/softnet_stat` that are read.
static SOFTNET: [(usize, Field); 4] = [
    (0, packets("softnet.packets")),
    (1, packets("softnet.drops")),
    (2, packets("softnet.time_squeezes")),
    (9, packets("softnet.steered")),
];

/// The column with the number of the CPU, since Linux 5.10; CPUs that are offline have no line.
const SOFTNET_CPU: usize = 12;

/// Parses `/proc/net/softnet_stat`: a line of hexadecimal numbers for each CPU.
pub fn softnet(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    for (line_number, line) in text.lines().enumerate() {
        let columns: Vec<u32> = line
            .split_ascii_whitespace()
            .map_while(|word| u32::from_str_radix(word, 16).ok().filter(|_| word.len() == 8))
            .collect();
        let cpu = columns.get(SOFTNET_CPU).map_or_else(|| line_number.to_string(), u32::to_string);
        for (position, field) in &SOFTNET {
            if let Some(value) = columns.get(*position) {
                receive(field.reading(Some(("cpu", &cpu)), f64::from(*value)));
            }
        }
    }
}

static SOFTIRQS: [Field; 3] = [
    Field::counter("NET_RX:", "softirq.net_rx"),
    Field::counter("NET_TX:", "softirq.net_tx"),
    Field::counter("BLOCK:", "softirq.block"),
];

/// Parses `/proc/softirqs`: a line of names of CPUs, then one for each kind of interrupt with its number on each CPU.
pub fn softirqs(text: &str, _: KernelUnits, receive: &mut Receive<'_>) {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split_ascii_whitespace().collect();
    for line in lines {
        let mut words = line.split_ascii_whitespace();
        let kind = words.next().unwrap_or_default();
        let Some(field) = SOFTIRQS.iter().find(|field| field.key == kind) else { continue };
        for (name, value) in names.iter().zip(words.map_while(number)) {
            if let Some(cpu) = name.strip_prefix("CPU") {
                receive(field.reading(Some(("cpu", cpu)), value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{parsed, survives};

    #[test]
    fn interfaces_that_are_used_have_eight_values() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
                    face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop\n    \
                    lo: 100 2 0 0 0 0 0 0 100 2 0 0 0 0 0 0\n  eth0:7 6 5 4 3 2 1 0 17 16 15 14 13 12 11 10\n  \
                    dummy0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
        let found = parsed(dev, text);
        assert_eq!(found.len(), 16);
        assert_eq!(found[0], "network.received_bytes[interface=lo] 100");
        let drops = ["network.receive_drops[interface=eth0] 4", "network.sent_bytes[interface=eth0] 17"];
        assert_eq!(found[11..13], drops);
        survives(dev, text);
    }

    #[test]
    fn values_of_protocols_follow_their_names() {
        let text = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: MaxConn CurrEstab InSegs RetransSegs\nTcp: -1 7 100 3\n\
                    Udp: InErrors\nUdp: 4\n";
        let expected = ["tcp.established 7", "tcp.received_segments 100", "tcp.retransmissions 3"];
        assert_eq!(parsed(protocols, text), expected);
        survives(protocols, text);
        let extended =
            "TcpExt: SyncookiesSent ListenOverflows TCPRcvQDrop\nTcpExt: 0 2 1\nIpExt: X\nIpExt: 1\n";
        assert_eq!(parsed(protocols, extended), ["tcp.listen_overflows 2", "tcp.receive_queue_drops 1"]);
        assert_eq!(parsed(protocols, "Tcp: InSegs\nUdp: 1\n"), [""; 0]);
    }

    #[test]
    fn each_cpu_has_its_packets() {
        let line = "00003bb5 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000000 0000000a 00000000 00000000";
        let text = format!("{line} 00000003 00000000 00000000\n");
        let expected = [
            "softnet.packets[cpu=3] 15285",
            "softnet.drops[cpu=3] 1",
            "softnet.time_squeezes[cpu=3] 2",
            "softnet.steered[cpu=3] 10",
        ];
        assert_eq!(parsed(softnet, &text), expected);
        assert_eq!(parsed(softnet, &format!("{line}\n{line}\n"))[4], "softnet.packets[cpu=1] 15285");
        survives(softnet, &text);
    }

    #[test]
    fn softirqs_are_by_cpu() {
        let text = "                    CPU0       CPU4\n      HI:          1          0\n  NET_RX:         12         34\n";
        assert_eq!(parsed(softirqs, text), ["softirq.net_rx[cpu=0] 12", "softirq.net_rx[cpu=4] 34"]);
        survives(softirqs, text);
    }
}
