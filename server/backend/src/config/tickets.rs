//! The keys of ticket codes.

use super::{ConfigError, wrong};

/// The only key of installations that set none: known to everybody who reads this file.
const DEVELOPMENT_KEY: [u8; 32] = *b"development ticket key, 32 bytes";
/// The number of a key that has none.
const ONLY: u8 = 1;

/// A key of ticket codes.
#[derive(Clone)]
pub struct TicketKey {
    /// The number that codes name it by.
    pub id: u8,
    /// Seed of the Ed25519 key.
    pub seed: [u8; 32],
}

/// Reads the keys: the first signs, all verify.
pub(super) fn read(get: impl Fn(&str) -> Option<String>) -> Result<Vec<TicketKey>, ConfigError> {
    match (get("STARARENA_TICKET_KEYS"), get("STARARENA_TICKET_KEY")) {
        (Some(_), Some(_)) => wrong(
            "STARARENA_TICKET_KEYS and STARARENA_TICKET_KEY are both set: move the single key into the list, as `1:` and its digits",
        ),
        (Some(list), None) => several(&list),
        (None, Some(text)) => Ok(vec![TicketKey { id: ONLY, seed: single(&text)? }]),
        (None, None) => Ok(vec![TicketKey { id: ONLY, seed: DEVELOPMENT_KEY }]),
    }
}

/// Refuses the known key, also as one of those that verify alone: with it anybody makes tickets.
pub(super) fn check_production(keys: &[TicketKey]) -> Result<(), ConfigError> {
    if keys.iter().any(|key| key.seed == DEVELOPMENT_KEY) {
        return wrong(
            "STARARENA_TICKET_KEY: the default key is known to everybody; set a random one in production, or several in STARARENA_TICKET_KEYS",
        );
    }
    Ok(())
}

fn single(text: &str) -> Result<[u8; 32], ConfigError> {
    match seed(text) {
        Some(seed) => Ok(seed),
        None => wrong("STARARENA_TICKET_KEY: 64 hexadecimal digits are expected"),
    }
}

fn several(list: &str) -> Result<Vec<TicketKey>, ConfigError> {
    let mut keys: Vec<TicketKey> = Vec::new();
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let read =
            part.split_once(':').and_then(|(id, text)| Some((id.trim().parse::<u8>().ok()?, seed(text.trim())?)));
        // A part is a secret: it is not repeated.
        let Some((id, seed)) = read else {
            return wrong(
                "STARARENA_TICKET_KEYS: keys such as `2:` with 64 hexadecimal digits are expected, separated by commas, the newest first; numbers are 0 to 255",
            );
        };
        if keys.iter().any(|key| key.id == id) {
            return wrong(format!("STARARENA_TICKET_KEYS: the number {id} stands for two keys"));
        }
        if keys.iter().any(|key| key.seed == seed) {
            return wrong("STARARENA_TICKET_KEYS: one key has two numbers");
        }
        keys.push(TicketKey { id, seed });
    }
    if keys.is_empty() {
        return wrong("STARARENA_TICKET_KEYS: at least one key is expected");
    }
    Ok(keys)
}

fn seed(text: &str) -> Option<[u8; 32]> {
    let mut seed = [0; 32];
    hex::decode_to_slice(text, &mut seed).is_ok().then_some(seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn keys(pairs: &[(&str, &str)]) -> Result<Vec<TicketKey>, ConfigError> {
        let map: HashMap<&str, &str> = pairs.iter().copied().collect();
        read(|name| map.get(name).map(|value| (*value).to_owned()))
    }

    fn shown(keys: &[TicketKey]) -> Vec<(u8, u8)> {
        keys.iter().map(|key| (key.id, key.seed[0])).collect()
    }

    #[test]
    fn the_first_key_signs_and_the_old_ones_stay() {
        let list = format!("7:{}, 1:{}", "22".repeat(32), "11".repeat(32));
        let several = keys(&[("STARARENA_TICKET_KEYS", &list)]).unwrap();
        assert_eq!(shown(&several), [(7, 0x22), (1, 0x11)]);
        let single = keys(&[("STARARENA_TICKET_KEY", &"11".repeat(32))]).unwrap();
        assert_eq!(shown(&single), [(1, 0x11)]);
        assert!(check_production(&several).is_ok() && check_production(&single).is_ok());
    }

    #[test]
    fn wrong_lists_are_refused_and_no_key_is_repeated() {
        let (one, two) = ("11".repeat(32), "22".repeat(32));
        for list in [
            "nothing".to_owned(),
            one.clone(),
            format!("256:{one}"),
            format!("1:{one}00"),
            format!("1:{one},1:{two}"),
            format!("1:{one},2:{one}"),
            " , ".to_owned(),
        ] {
            let Err(error) = keys(&[("STARARENA_TICKET_KEYS", &list)]) else { panic!("{list} was taken") };
            assert!(error.0.contains("STARARENA_TICKET_KEYS") && !error.0.contains(&one), "{list}: {error}");
        }
        let list = format!("2:{two}");
        let both = [("STARARENA_TICKET_KEYS", list.as_str()), ("STARARENA_TICKET_KEY", one.as_str())];
        assert!(keys(&both).is_err_and(|error| error.0.contains("both")));
    }

    #[test]
    fn production_refuses_the_known_key_also_among_others() {
        let list = format!("2:{},1:{}", "22".repeat(32), hex::encode(DEVELOPMENT_KEY));
        for known in [keys(&[]).unwrap(), keys(&[("STARARENA_TICKET_KEYS", &list)]).unwrap()] {
            assert!(check_production(&known).is_err_and(|error| error.0.contains("the default key")));
        }
    }
}
