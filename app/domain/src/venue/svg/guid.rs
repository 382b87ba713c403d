//! Identities of seats, stable as long as the drawing says the same.
//!
//! Owns the rule: `data-id`, else the element's id, else `seat/<section>/<row>/<seat>`. Of several
//! seats with one identity the first in file order keeps it, the k-th gets `~k`, counting on where
//! another seat already has that.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use super::label;
use super::tell::Tells;
use super::walk::Found;
use crate::venue::finding::Code;
use crate::venue::plan::guid_fits;

/// Places that one finding names; the message counts the rest.
const MAX_PLACES_NAMED: usize = 20;

/// The identity that the drawing gives to a seat or standing area itself.
pub(super) fn said(found: &Found<'_>, tells: &mut Tells) -> Option<String> {
    let fits = |text: &str| {
        let (guid, cut) = label::bounded(text);
        (!cut && guid_fits(&guid)).then_some(guid)
    };
    if let Some(data_id) = found.data_id {
        let guid = fits(data_id);
        if guid.is_none() {
            let message =
                format!("data-id {:?} is too short or too long; another identity is made", label::short(data_id));
            tells.add(Code::GuidMalformed, found.place(), message, Vec::new());
        }
        return guid;
    }
    found.id.and_then(fits)
}

/// The identity that follows from what names the seat.
pub(super) fn derived(head: &str, parts: &[&str]) -> String {
    let guid = format!("{head}/{}", parts.join("/"));
    if guid.len() <= label::MAX_LABEL_BYTES {
        return guid;
    }
    let digest = Sha256::digest(guid.as_bytes());
    format!("{head}/{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// The identities, each used once.
pub(super) fn unique(wanted: Vec<String>) -> Vec<String> {
    let mut taken: HashSet<String> = wanted.iter().cloned().collect();
    let mut next: HashMap<String, usize> = HashMap::new();
    let mut list = Vec::with_capacity(wanted.len());
    for guid in wanted {
        let Some(suffix) = next.get_mut(&guid) else {
            next.insert(guid.clone(), 2);
            list.push(guid);
            continue;
        };
        list.push(loop {
            let candidate = format!("{guid}~{suffix}");
            *suffix += 1;
            if taken.insert(candidate.clone()) {
                break candidate;
            }
        });
    }
    list
}

/// Tells each identity that the drawing gives several times. `finals` are the identities that
/// the places got.
pub(super) fn tell_repeated(said: &[Option<String>], places: &[Found<'_>], finals: &[Vec<String>], tells: &mut Tells) {
    let mut users: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, guid) in said.iter().enumerate() {
        if let Some(guid) = guid {
            users.entry(guid).or_default().push(index);
        }
    }
    for (index, guid) in said.iter().enumerate() {
        let Some(guid) = guid else { continue };
        let Some(indices) = users.get(guid.as_str()).filter(|list| list.len() > 1 && list[0] == index) else {
            continue;
        };
        let guids = indices.iter().filter_map(|index| finals.get(*index)?.first().cloned()).collect();
        let Some(second) = places.get(indices[1]) else { continue };
        let message = format!("{} places share the id {guid:?}: {}", indices.len(), named(indices, places));
        tells.add(Code::GuidRepeated, second.place(), message, guids);
    }
}

/// The places of a finding, in words.
pub(super) fn named(indices: &[usize], places: &[Found<'_>]) -> String {
    let some = indices.iter().take(MAX_PLACES_NAMED).filter_map(|index| places.get(*index));
    let some: Vec<String> = some.map(|place| format!("{} (line {})", place.path, place.line)).collect();
    let more = indices.len() - some.len();
    if more > 0 { format!("{} and {more} more", some.join(", ")) } else { some.join(", ") }
}
