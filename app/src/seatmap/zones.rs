//! Price zones in their order: dearest first, or by category, each with a letter and a place in the
//! palette.
//!
//! The letter is the second sign beside the colour. Owns no colour itself: those are tokens.

use super::Paint;
use domain::Money;
use domain::catalog::PriceZone;

/// Colours of the palette (`--zone-a` to `--zone-f`); more zones begin again and differ by letter.
pub const PALETTE: usize = 6;
/// Stands for "none" where zones are written as bytes: categories are fewer.
pub const NO_ZONE: u8 = u8::MAX;

/// A category with its signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Index of the plan's category.
    pub category: u8,
    /// A, B, C … from the first.
    pub letter: char,
    /// Index into the palette.
    pub colour: u8,
    /// Name of the category.
    pub name: String,
    /// Price of one seat; buyers see zones with a price alone.
    pub price: Option<Money>,
}

/// All zones that are shown, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zones {
    list: Vec<Zone>,
    /// The index of each category's zone.
    of_category: Vec<u8>,
}

impl Zones {
    /// The price zones of a performance, dearest first; those without a price are not for sale.
    pub fn of(prices: &[PriceZone]) -> Self {
        let mut priced: Vec<&PriceZone> = prices.iter().filter(|zone| zone.price.is_some()).collect();
        priced.sort_by_key(|zone| (std::cmp::Reverse(zone.price.map(|price| price.minor)), zone.category));
        Self::in_order(&priced)
    }

    /// The zones as `paint` shows them: by price as [`Zones::of`], by zone all of them in the plan's
    /// order, so that no colour changes while prices are being made.
    pub fn painted(paint: Paint, prices: &[PriceZone]) -> Self {
        match paint {
            Paint::ByPrice => Self::of(prices),
            Paint::ByZone => {
                let mut all: Vec<&PriceZone> = prices.iter().collect();
                all.sort_by_key(|zone| zone.category);
                Self::in_order(&all)
            }
        }
    }

    fn in_order(zones: &[&PriceZone]) -> Self {
        let list: Vec<Zone> = zones
            .iter()
            .take(usize::from(NO_ZONE))
            .zip(('A'..='Z').chain('a'..='z').chain(std::iter::repeat('·')))
            .zip((0..PALETTE).cycle())
            .map(|((zone, letter), colour)| Zone {
                category: zone.category,
                letter,
                colour: u8::try_from(colour).unwrap_or(0),
                name: zone.name.clone(),
                price: zone.price,
            })
            .collect();
        let mut of_category = vec![NO_ZONE; usize::from(u8::MAX) + 1];
        for (index, zone) in (0..).zip(&list) {
            of_category[usize::from(zone.category)] = index;
        }
        Self { list, of_category }
    }

    /// The zones in order.
    pub fn list(&self) -> &[Zone] {
        &self.list
    }

    /// The index of a category's zone, or [`NO_ZONE`].
    pub fn index_of(&self, category: u8) -> u8 {
        self.of_category.get(usize::from(category)).copied().unwrap_or(NO_ZONE)
    }

    /// The zone of a category; `None` when it is not shown as one.
    pub fn of_category(&self, category: u8) -> Option<&Zone> {
        self.list.get(usize::from(self.index_of(category)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(category: u8, minor: Option<i64>) -> PriceZone {
        PriceZone {
            category,
            name: format!("category {category}"),
            price: minor.map(|minor| Money::new(minor, "EUR".parse().unwrap())),
        }
    }

    #[test]
    fn zones_run_from_dear_to_cheap_and_each_has_a_letter() {
        let zones = Zones::of(&[price(0, Some(4500)), price(1, None), price(2, Some(9900)), price(3, Some(4500))]);
        let seen: Vec<_> = zones.list().iter().map(|zone| (zone.letter, zone.category, zone.colour)).collect();
        assert_eq!(seen, [('A', 2, 0), ('B', 0, 1), ('C', 3, 2)]);
        assert_eq!(zones.of_category(1), None, "without a price, not for sale");
        let many = Zones::of(&(0..30).map(|category| price(category, Some(100))).collect::<Vec<_>>());
        assert_eq!(many.list().len(), 30, "no zone is lost when letters and colours run out");
    }

    #[test]
    fn by_zone_each_has_a_sign_of_its_own_priced_or_not() {
        let zones = Zones::painted(Paint::ByZone, &[price(2, Some(9900)), price(0, None), price(1, Some(100))]);
        let seen: Vec<_> = zones.list().iter().map(|zone| (zone.letter, zone.category, zone.colour)).collect();
        assert_eq!(seen, [('A', 0, 0), ('B', 1, 1), ('C', 2, 2)]);
        let many: Vec<_> = (0..250).map(|category| price(category, None)).collect();
        let many = Zones::painted(Paint::ByZone, &many);
        assert_eq!(many.list().len(), 250);
        // Colours begin again after the palette; what repeats has another letter.
        assert_eq!(many.list()[0].colour, many.list()[PALETTE].colour);
        assert_ne!(many.list()[0].letter, many.list()[PALETTE].letter);
        assert_eq!(many.of_category(249).map(|zone| zone.category), Some(249));
    }
}
