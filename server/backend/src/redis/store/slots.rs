//! Slots of a cluster: which one a key is in, and who owns which by the nodes' own account.

/// How many slots a cluster has.
pub(super) const SLOTS: usize = 16_384;

/// The slot of a key: of the part in its first braces, where there is one.
pub(super) fn slot_of(key: &[u8]) -> usize {
    usize::from(crc16(tag_of(key))) % SLOTS
}

/// The part of a key that chooses its slot.
pub(super) fn tag_of(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|byte| *byte == b'{') else { return key };
    match key[open + 1..].iter().position(|byte| *byte == b'}') {
        Some(length) if length > 0 => &key[open + 1..open + 1 + length],
        _ => key,
    }
}

/// CRC-16 with the polynomial 0x1021, as the cluster's specification names it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(
            crc ^ (u16::from(*byte) << 8),
            |crc, _| if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 },
        )
    })
}

/// A node of the cluster, as another node knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Its host; none where the node that was asked doesn't know it, which is so of itself before it
    /// met another.
    pub(super) host: Option<String>,
    /// Its port.
    pub(super) port: u16,
    /// Whether it is a primary.
    pub(super) primary: bool,
    /// The version of its claim to its slots: of two claims the higher counts.
    pub(super) epoch: u64,
    /// Its slots, first and last of each range.
    pub(super) slots: Vec<(usize, usize)>,
}

/// Reads an answer of `CLUSTER NODES`. A line that can't be read is left out: a later version may add
/// kinds of nodes.
pub(super) fn read_nodes(text: &str) -> Vec<Known> {
    text.lines().filter_map(read_node).collect()
}

/// `<id> <ip>:<port>@<bus>[,<host>] <flags> <primary> <ping> <pong> <epoch> <link> <slot> …`
fn read_node(line: &str) -> Option<Known> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let address = fields.next()?.split([',', '@']).next()?;
    let (host, port) = address.rsplit_once(':')?;
    let mut flags = fields.next()?.split(',');
    if flags.clone().any(|flag| flag == "noaddr" || flag == "handshake") {
        return None;
    }
    let primary = flags.any(|flag| flag == "master");
    let epoch = fields.nth(3)?.parse().ok()?;
    // A slot that is on its way elsewhere is in brackets.
    let slots = fields.skip(1).filter(|range| !range.starts_with('[')).filter_map(read_range).collect();
    let host = Some(host.trim_matches(['[', ']'])).filter(|host| !host.is_empty()).map(str::to_owned);
    Some(Known { host, port: port.parse().ok()?, primary, epoch, slots })
}

fn read_range(text: &str) -> Option<(usize, usize)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last < SLOTS).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_fall_into_the_slots_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b"{foo}:anything"), 12_182);
        assert_eq!(slot_of(b"before:{foo}:after"), 12_182);
        assert_eq!(slot_of(b"{}foo"), usize::from(crc16(b"{}foo")) % SLOTS, "empty braces choose nothing");
    }

    #[test]
    fn an_answer_is_read_with_its_claims() {
        let text = "\
            07c3 127.0.0.1:30004@31004,host4 slave 67ed 0 1426238317239 4 connected\n\
            67ed 127.0.0.1:30002@31002 master - 0 1426238316232 2 connected 5461-10922 [77->-292f]\n\
            292f :30003@31003 myself,master - 0 0 9 connected 10923-16383 7\n\
            aaaa :0@0 master,noaddr - 0 0 3 disconnected\n\
            nonsense\n";
        let nodes = read_nodes(text);
        assert_eq!(nodes.len(), 3);
        assert!(!nodes[0].primary);
        assert_eq!((nodes[1].host.as_deref(), nodes[1].epoch), (Some("127.0.0.1"), 2));
        assert_eq!(nodes[1].slots, [(5_461, 10_922)]);
        assert_eq!((nodes[2].host.as_deref(), nodes[2].port), (None, 30_003));
        assert_eq!(nodes[2].slots, [(10_923, 16_383), (7, 7)]);
    }
}
