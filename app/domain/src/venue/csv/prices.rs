//! Categories of a table, and what their lines say they cost.
//!
//! Owns one rule: a category has one price. Lines of one category with different prices become
//! categories of their own, named with the price; lines without a category get one for each price.

use std::collections::HashMap;

use super::build::Entry;
use super::lines::{DEFAULT_CATEGORY, Line, Price};
use super::price_path;
use crate::money::Money;
use crate::venue::finding::{Code, Finding, Findings};
use crate::venue::import::PriceHint;
use crate::venue::plan::{Category, Kept, MAX_CATEGORIES};

/// A category as the table tells it: its name and its price.
type Key = (String, Option<Price>);

/// Categories in the order of the plan.
#[derive(Default)]
pub(super) struct Prices {
    index: HashMap<Key, usize>,
    names: Vec<String>,
    prices: Vec<Option<Money>>,
}

/// A price without a currency only helps where there is no category.
fn key(line: &Line) -> Key {
    let price = line.price.clone().filter(|price| line.category.is_empty() || matches!(price, Price::Money(_)));
    (line.category.clone(), price)
}

impl Prices {
    /// Categories in the order in which the places name them.
    pub(super) fn new<'a, 'l: 'a>(entries: impl Iterator<Item = &'a Entry<'l>>, findings: &mut Findings) -> Self {
        let mut keys: Vec<(Key, u32)> = Vec::new();
        let mut index: HashMap<Key, usize> = HashMap::new();
        let mut over = None;
        for entry in entries {
            let key = key(entry.line);
            if index.contains_key(&key) {
                continue;
            }
            if keys.len() >= MAX_CATEGORIES {
                over.get_or_insert(entry.line.line);
                // Drawn as the first; the file is refused.
                index.insert(key, 0);
                continue;
            }
            index.insert(key.clone(), keys.len());
            keys.push((key, entry.line.line));
        }
        if let Some(line) = over {
            let message = format!("more than the {MAX_CATEGORIES} categories that a plan may have");
            findings.tell(Finding { line: Some(line), ..Finding::new(Code::LimitExceeded, "category", message) });
        }
        let mut variants: HashMap<String, (usize, u32)> = HashMap::new();
        for ((name, _), line) in &keys {
            let entry = variants.entry(name.clone()).or_insert((0, *line));
            entry.0 += 1;
            entry.1 = entry.1.max(*line);
        }
        let mut mixed: Vec<(&String, &(usize, u32))> =
            variants.iter().filter(|(name, (count, _))| *count > 1 && !name.is_empty()).collect();
        mixed.sort_unstable();
        for (name, (count, line)) in mixed {
            let message = format!("category {name:?} has {count} different prices; it becomes {count} categories");
            findings.tell(Finding { line: Some(*line), ..Finding::new(Code::PriceMixed, "price", message) });
        }
        let mut prices = Self { index, ..Self::default() };
        for ((name, price), _) in keys {
            let several = variants.get(&name).is_some_and(|(count, _)| *count > 1);
            prices.push(name, price, several);
        }
        prices
    }

    fn push(&mut self, name: String, price: Option<Price>, several: bool) {
        let wanted = match &price {
            Some(Price::Money(money)) if name.is_empty() => money.to_string(),
            Some(Price::Bare(text)) if name.is_empty() => text.clone(),
            Some(Price::Money(money)) if several => format!("{name} {money}"),
            _ => name,
        };
        let mut unique = wanted.clone();
        let mut suffix = 2;
        while self.names.contains(&unique) {
            unique = format!("{wanted}~{suffix}");
            suffix += 1;
        }
        self.names.push(unique);
        self.prices.push(match price {
            Some(Price::Money(money)) => Some(money),
            _ => None,
        });
    }

    /// The category of a line.
    pub(super) fn category(&self, line: &Line) -> usize {
        self.index.get(&key(line)).copied().unwrap_or_default()
    }

    /// All categories.
    pub(super) fn categories(&self) -> Vec<Category> {
        if self.names.is_empty() {
            return vec![Category { name: DEFAULT_CATEGORY.to_owned(), color: None }];
        }
        self.names.iter().map(|name| Category { name: name.clone(), color: None }).collect()
    }

    /// The price of each category that has one.
    pub(super) fn hints(&self) -> Vec<PriceHint> {
        let priced = self.prices.iter().enumerate().filter_map(|(category, price)| Some((category, (*price)?)));
        priced.map(|(category, price)| PriceHint { category, price }).collect()
    }

    /// Prices as a plan sets them aside.
    pub(super) fn kept(&self) -> Vec<Kept> {
        let priced = self.names.iter().zip(&self.prices).filter_map(|(name, price)| Some((name, (*price)?)));
        priced
            .map(|(name, price)| {
                let json = serde_json::json!({"minor": price.minor, "currency": price.currency.code()}).to_string();
                Kept { path: price_path(name), json }
            })
            .collect()
    }
}
