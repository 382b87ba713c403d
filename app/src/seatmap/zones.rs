//! Price zones in their order: dearest first, each with a letter and a place in the palette.
//!
//! The letter is the second sign beside the colour. Owns no colour itself: those are tokens.

use domain::Money;
use domain::catalog::PriceZone;

/// Colours of the palette (`--zone-a` to `--zone-f`); more zones begin again and differ by letter.
pub const PALETTE: usize = 6;

/// A category that is sold, with its signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Index of the plan's category.
    pub category: u8,
    /// A, B, C … from the dearest.
    pub letter: char,
    /// Index into the palette.
    pub colour: u8,
    /// Name of the category.
    pub name: String,
    /// Price of one seat.
    pub price: Money,
}

/// All zones that are sold, dearest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zones {
    list: Vec<Zone>,
}

impl Zones {
    /// Orders the price zones of a performance; those without a price are not for sale.
    pub fn of(prices: &[PriceZone]) -> Self {
        let mut priced: Vec<_> = prices
            .iter()
            .filter_map(|zone| zone.price.map(|price| (zone.category, zone.name.clone(), price)))
            .collect();
        priced.sort_by_key(|(category, _, price)| (std::cmp::Reverse(price.minor), *category));
        let list = priced
            .into_iter()
            .zip(('A'..='Z').chain(std::iter::repeat('·')))
            .zip((0..PALETTE).cycle())
            .map(|(((category, name, price), letter), colour)| Zone {
                category,
                letter,
                colour: u8::try_from(colour).unwrap_or(0),
                name,
                price,
            })
            .collect();
        Self { list }
    }

    /// The zones, dearest first.
    pub fn list(&self) -> &[Zone] {
        &self.list
    }

    /// The zone of a category; `None` when it is not for sale.
    pub fn of_category(&self, category: u8) -> Option<&Zone> {
        self.list.iter().find(|zone| zone.category == category)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_run_from_dear_to_cheap_and_each_has_a_letter() {
        let price = |category, minor: Option<i64>| PriceZone {
            category,
            name: format!("category {category}"),
            price: minor.map(|minor| Money::new(minor, "EUR".parse().unwrap())),
        };
        let zones = Zones::of(&[price(0, Some(4500)), price(1, None), price(2, Some(9900)), price(3, Some(4500))]);
        let seen: Vec<_> = zones.list().iter().map(|zone| (zone.letter, zone.category, zone.colour)).collect();
        assert_eq!(seen, [('A', 2, 0), ('B', 0, 1), ('C', 3, 2)]);
        assert_eq!(zones.of_category(1), None, "without a price, not for sale");
        let many = Zones::of(&(0..30).map(|category| price(category, Some(100))).collect::<Vec<_>>());
        assert_eq!(many.list().len(), 30, "no zone is lost when letters and colours run out");
    }
}
