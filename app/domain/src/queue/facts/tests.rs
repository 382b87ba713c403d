//! A forged fact is found, by the check that looks at it and by no other.

use super::*;
use CheckOutcome::{Fails, Holds, Skipped};
use uuid::Uuid;

const PERFORMANCE: PerformanceId = PerformanceId(Uuid::from_u128(0x0101));

fn account(number: u128) -> AccountId {
    AccountId(Uuid::from_u128(number))
}

/// Five fans; the fourth number was never given.
fn list() -> Vec<u8> {
    let mut list: Vec<u8> = (1..=5).flat_map(|fan| entry(PERFORMANCE, account(fan))).collect();
    list[3 * ENTRY_BYTES..4 * ENTRY_BYTES].fill(0);
    list
}

fn good() -> DrawFacts {
    let seed = [0x11; 32];
    let signature = b"the signature of a round";
    let published = Commitment {
        commitment: hex::encode(commitment(&seed)),
        opens: Millis(2_000),
        beacon: Some(BeaconRound { chain: "sandbox".to_owned(), round: 1, due: Millis(2_500) }),
        published: Millis(1_000),
    };
    let moved = Commitment { opens: Millis(3_000), published: Millis(1_500), ..published.clone() };
    DrawFacts {
        performance: PERFORMANCE,
        mode: Mode::Queue,
        commitments: vec![published, moved],
        lobby: Some(5),
        list: Some(hex::encode(list_digest(&list()))),
        list_published: Some(Millis(2_400)),
        randomness: Randomness::Used {
            randomness: hex::encode(Sha256::digest(signature)),
            signature: hex::encode(signature),
        },
        seed: Some(hex::encode(seed)),
        revealed: Some(Millis(3_000)),
    }
}

/// Outcomes in the order of [`DrawFacts::verify`]: commitments, seed, randomness, order, list.
fn outcomes(facts: &DrawFacts, list: Option<&[u8]>) -> Vec<CheckOutcome> {
    facts.verify(list).into_iter().map(|check| check.outcome).collect()
}

/// Asserts that exactly the check of that position fails.
#[track_caller]
fn assert_found(facts: &DrawFacts, list: &[u8], position: usize) {
    for (at, outcome) in outcomes(facts, Some(list)).into_iter().enumerate() {
        match (at == position, outcome) {
            (true, Fails(_)) | (false, Holds) => {}
            (_, outcome) => panic!("check {at}: {outcome:?}"),
        }
    }
}

const COMMITMENTS: usize = 0;
const SEED: usize = 1;
const RANDOMNESS: usize = 2;
const ORDER: usize = 3;
const LIST: usize = 4;

#[test]
fn a_good_draw_passes_all() {
    assert_eq!(outcomes(&good(), Some(&list())), vec![Holds; 5]);
    assert!(good().draw().is_some());
}

#[test]
fn another_seed_is_found() {
    for seed in ["22".repeat(32), "11".repeat(31), "no hexadecimal".to_owned()] {
        assert_found(&DrawFacts { seed: Some(seed), ..good() }, &list(), SEED);
    }
}

#[test]
fn an_exchanged_commitment_is_found() {
    let mut facts = good();
    facts.commitments[1].commitment = "33".repeat(32);
    assert_found(&facts, &list(), COMMITMENTS);
    // The first is the one that counts: exchanging it breaks the seed as well.
    let mut facts = good();
    facts.commitments[0].commitment = "33".repeat(32);
    let found = outcomes(&facts, Some(&list()));
    assert!(matches!(found[..], [Fails(_), Fails(_), Holds, Holds, Holds]), "{found:?}");
    let none = outcomes(&DrawFacts { commitments: Vec::new(), ..good() }, Some(&list()));
    assert!(matches!(none[..], [Fails(_), Fails(_), Holds, Skipped(_), Holds]), "{none:?}");
}

#[test]
fn other_randomness_is_found() {
    let Randomness::Used { randomness, signature } = good().randomness else { panic!("used") };
    for (randomness, signature) in [
        ("44".repeat(32), signature.clone()),
        (randomness.clone(), "4455".to_owned()),
        (randomness, "no hexadecimal".to_owned()),
        (String::new(), signature),
    ] {
        let facts = DrawFacts { randomness: Randomness::Used { randomness, signature }, ..good() };
        assert_found(&facts, &list(), RANDOMNESS);
    }
}

#[test]
fn a_list_that_came_after_the_randomness_could_be_known_is_found() {
    for published in [2_500, 2_600] {
        assert_found(&DrawFacts { list_published: Some(Millis(published)), ..good() }, &list(), ORDER);
    }
}

#[test]
fn every_byte_of_the_list_counts() {
    for byte in 0..list().len() {
        let mut forged = list();
        forged[byte] ^= 1;
        assert_found(&good(), &forged, LIST);
    }
    assert_found(&good(), &list()[ENTRY_BYTES..], LIST);
    assert_found(&good(), &[], LIST);
}

#[test]
fn another_size_of_the_lobby_is_found() {
    for lobby in [0, 4, 6, u32::MAX] {
        assert_found(&DrawFacts { lobby: Some(lobby), ..good() }, &list(), LIST);
    }
}

#[test]
fn what_is_not_there_yet_is_no_failure() {
    let before = DrawFacts {
        lobby: None,
        list: None,
        list_published: None,
        seed: None,
        randomness: Randomness::Awaited,
        ..good()
    };
    let found = outcomes(&before, None);
    assert!(matches!(found[..], [Holds, Skipped(_), Skipped(_), Skipped(_), Skipped(_)]), "{found:?}");
    assert!(before.draw().is_none());
    let unread = outcomes(&good(), None);
    assert!(matches!(unread[..], [Holds, Holds, Holds, Holds, Skipped(_)]), "{unread:?}");
    for randomness in [Randomness::None, Randomness::Silent] {
        let facts = DrawFacts { randomness, ..good() };
        let found = outcomes(&facts, Some(&list()));
        assert!(matches!(found[..], [Holds, Holds, Skipped(_), Holds, Holds]), "{found:?}");
        assert_ne!(facts.draw(), good().draw(), "without the randomness it is another draw");
    }
}

#[test]
fn an_entry_tells_nothing_about_another_performance() {
    let other = PerformanceId(Uuid::from_u128(0x0102));
    assert_ne!(entry(PERFORMANCE, account(1)), entry(other, account(1)));
    assert_ne!(entry(PERFORMANCE, account(1)), entry(PERFORMANCE, account(2)));
    assert_eq!(entry(PERFORMANCE, account(1)), entry(PERFORMANCE, account(1)));
}

#[test]
fn accounts_are_found_in_the_list() {
    let (facts, list) = (good(), list());
    assert_eq!(facts.arrival_in(&list, account(1)), Some(0));
    assert_eq!(facts.arrival_in(&list, account(5)), Some(4));
    assert_eq!(facts.arrival_in(&list, account(4)), None, "its number was never given");
    assert_eq!(facts.arrival_in(&list, account(6)), None);
    let elsewhere = DrawFacts { performance: PerformanceId(Uuid::from_u128(0x0102)), ..good() };
    assert_eq!(elsewhere.arrival_in(&list, account(1)), None);
}

/// The worked example of `docs/waiting-room.md`: whoever writes a checker of their own compares with it.
#[test]
fn the_worked_example_of_the_documentation() {
    let (facts, list) = (good(), list());
    let draw = facts.draw().expect("all facts are there");
    let places: Vec<u32> = (0..5).map(|arrival| draw.place(arrival)).collect();
    let Randomness::Used { randomness, .. } = &facts.randomness else { panic!("used") };
    let lines = [
        facts.commitments[0].commitment.clone(),
        hex::encode(&list[..ENTRY_BYTES]),
        hex::encode(list_digest(&list)),
        randomness.clone(),
        hex::encode(draw.key()),
        format!("{places:?}"),
    ];
    let expected = [
        "02d449a31fbb267c8f352e9968a79e3e5fc95c1bbeaa502fd6454ebde5a4bedc",
        "fdcf2a5b84bfd8104d37ff945fe26c16",
        "eafab6e9f0b6d7c705e40e3e4abcad1264591dbb900ed6a2a3d1b39815fe3b45",
        "0143ad58cb89f924f2feddf35f970be5aed1692419e1d361d6e274fab56e5b6a",
        "936859e8aa3b9d3440b4ee2a98815d22ca2c2c0b3c30becb4a6fc0e251ae7289",
        "[3, 4, 2, 1, 0]",
    ];
    assert_eq!(lines, expected.map(str::to_owned));
}
