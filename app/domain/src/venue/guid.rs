//! Telling seats apart that share one guid.
//!
//! Owns the rule alone, which depends on the order of the file and on nothing else: of several seats
//! with one guid the first keeps it, the k-th gets `~k` appended, counting on where another seat
//! already has that guid. Importers tell what was done.

use std::collections::{HashMap, HashSet};

/// Guids that are shared, and what becomes of them.
pub(in crate::venue) struct Repeats {
    /// Places in the list, one group for each shared guid, in the order of first appearance.
    pub(in crate::venue) groups: Vec<Vec<usize>>,
    /// The new guid for each place that gets one.
    pub(in crate::venue) repaired: Vec<Option<String>>,
}

/// Finds shared guids and tells the seats apart.
pub(in crate::venue) fn repeats(wanted: &[String]) -> Repeats {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, guid) in wanted.iter().enumerate() {
        places.entry(guid).or_default().push(index);
    }
    let mut taken: HashSet<String> = HashSet::new();
    let mut groups: Vec<Vec<usize>> = places.values().filter(|indices| indices.len() > 1).cloned().collect();
    groups.sort_unstable();
    let mut repaired = vec![None; wanted.len()];
    for indices in &groups {
        let Some(guid) = indices.first().and_then(|first| wanted.get(*first)) else { continue };
        let mut suffix = 2_usize;
        for &repeat in indices.iter().skip(1) {
            let unique = loop {
                let candidate = format!("{guid}~{suffix}");
                suffix += 1;
                if !places.contains_key(candidate.as_str()) && taken.insert(candidate.clone()) {
                    break candidate;
                }
            };
            if let Some(slot) = repaired.get_mut(repeat) {
                *slot = Some(unique);
            }
        }
    }
    Repeats { groups, repaired }
}
