//! Fees and tax, wherever an order or a price is shown: the sums of an order, and a schedule in words.

use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::Money;
use domain::catalog::PriceZone;
use domain::money::fees::{FeeSchedule, LineKind, Rate, TaxMode, TaxRule};
use domain::money::summary::Summary;
use leptos::prelude::*;

/// The total of an order, with what it is made of where that is more than prices.
#[component]
pub fn Sums(
    /// What it is made of.
    charges: Option<Summary>,
    /// What is paid.
    total: Money,
) -> impl IntoView {
    let lang = lang();
    let (made_of, contained) = charges.map(|charges| (rows(lang, &charges), contained(lang, &charges))).unzip();
    let made_of = made_of.map(|rows| {
        let rows = rows
            .into_iter()
            .map(|(name, amount)| view! { <div><dt>{name}</dt><dd>{format::money(lang, amount)}</dd></div> })
            .collect_view();
        view! { <dl class="charges" data-testid="charges">{rows}</dl> }
    });
    let contained = contained
        .unwrap_or_default()
        .into_iter()
        .map(|text| view! { <p class="charges-contained" data-testid="tax-contained">{text}</p> })
        .collect_view();
    view! {
        {made_of}
        <p class="order-total">
            <span>{td_string!(lang, orders.total)}</span>
            <b data-testid="total">{format::money(lang, total)}</b>
        </p>
        {contained}
    }
    .into_any()
}

/// What makes the total, row by row: they sum to it.
fn rows(lang: Locale, charges: &Summary) -> Vec<(String, Money)> {
    let mut rows = vec![(td_string!(lang, fees.row_tickets).to_owned(), charges.tickets)];
    for (name, fee) in
        [(td_string!(lang, fees.row_service), charges.service), (td_string!(lang, fees.row_order), charges.order)]
    {
        if fee.minor > 0 {
            rows.push((name.to_owned(), fee));
        }
    }
    let added = charges.taxes.iter().filter(|tax| tax.rule.mode == TaxMode::Added);
    rows.extend(added.map(|tax| {
        let name = td_string!(lang, fees.row_tax, rate = tax.rule.rate.percent());
        (name.to_string(), tax.amount)
    }));
    rows
}

/// The taxes inside of the rows.
fn contained(lang: Locale, charges: &Summary) -> Vec<String> {
    let inside = charges.taxes.iter().filter(|tax| tax.rule.mode == TaxMode::Inclusive);
    inside
        .map(|tax| {
            let (rate, amount) = (tax.rule.rate.percent(), format::money(lang, tax.amount));
            td_string!(lang, fees.row_contained, rate = rate, amount = amount).to_string()
        })
        .collect()
}

/// A schedule on one line: `€2.50 + 5 % for each ticket; 19 % tax is included in tickets, service fees`.
pub fn terms(lang: Locale, schedule: &FeeSchedule) -> String {
    let money = |minor| format::money(lang, Money::new(minor, schedule.currency));
    let mut parts: Vec<String> = Vec::new();
    let fixed = (schedule.service_fixed_minor > 0).then(|| money(schedule.service_fixed_minor));
    let share = (schedule.service_rate > Rate::NONE).then(|| format!("{}\u{a0}%", schedule.service_rate.percent()));
    let service: Vec<String> = fixed.into_iter().chain(share).collect();
    let mut charged = vec![(LineKind::Ticket, td_string!(lang, fees.what_tickets))];
    if !service.is_empty() {
        parts.push(td_string!(lang, fees.term_service, fee = service.join(" + ")).to_string());
        charged.push((LineKind::ServiceFee, td_string!(lang, fees.what_service)));
    }
    if schedule.order_fixed_minor > 0 {
        parts.push(td_string!(lang, fees.term_order, fee = money(schedule.order_fixed_minor)).to_string());
        charged.push((LineKind::OrderFee, td_string!(lang, fees.what_order)));
    }
    let mut taxed: Vec<(TaxRule, Vec<&'static str>)> = Vec::new();
    for (kind, name) in charged {
        let rule = schedule.tax_on(kind);
        match taxed.iter_mut().find(|(known, _)| *known == rule) {
            Some((_, names)) => names.push(name),
            None => taxed.push((rule, vec![name])),
        }
    }
    let (comma, semicolon) = match lang {
        Locale::en => (", ", "; "),
        Locale::zh => ("、", "；"),
    };
    for (rule, names) in taxed.into_iter().filter(|(rule, _)| rule.rate > Rate::NONE) {
        let (rate, what) = (rule.rate.percent(), names.join(comma));
        parts.push(match rule.mode {
            TaxMode::Added => td_string!(lang, fees.term_added, rate = rate, what = what).to_string(),
            TaxMode::Inclusive => td_string!(lang, fees.term_included, rate = rate, what = what).to_string(),
        });
    }
    parts.join(semicolon)
}

/// What one ticket comes to at least, with everything; none where nothing has a price.
pub fn all_in_from(lang: Locale, zones: &[PriceZone], schedule: &FeeSchedule) -> Option<String> {
    let lowest = zones.iter().filter_map(|zone| zone.price).min_by_key(|price| price.minor)?;
    let total = schedule.bill_of_prices(&[lowest]).ok()?.total();
    Some(td_string!(lang, fees.all_in_from, price = format::money(lang, total)).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(basis_points: u32, mode: TaxMode) -> TaxRule {
        TaxRule { rate: Rate::try_from(basis_points).unwrap(), mode }
    }

    fn schedule() -> FeeSchedule {
        FeeSchedule {
            service_fixed_minor: 250,
            service_rate: Rate::try_from(500).unwrap(),
            order_fixed_minor: 300,
            ticket_tax: rule(700, TaxMode::Inclusive),
            service_tax: rule(1_900, TaxMode::Added),
            order_tax: rule(1_900, TaxMode::Added),
            ..FeeSchedule::none("EUR".parse().unwrap())
        }
    }

    #[test]
    fn a_schedule_is_one_line() {
        assert_eq!(
            terms(Locale::en, &schedule()),
            "€2.50 + 5\u{a0}% for each ticket; €3.00 for each order; 7 % tax is included in tickets; \
             19 % tax is added to service fees, the order fee"
        );
        let tax_alone =
            FeeSchedule { ticket_tax: rule(825, TaxMode::Added), ..FeeSchedule::none("USD".parse().unwrap()) };
        assert_eq!(terms(Locale::zh, &tax_alone), "门票另加 8.25% 税");
    }

    #[test]
    fn the_rows_of_an_order_sum_to_its_total() {
        let fees = schedule();
        let price = Money::new(5_000, fees.currency);
        let summary = Summary::of(&fees, &fees.bill_of_prices(&[price, price]).unwrap());
        let rows = rows(Locale::en, &summary);
        let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Tickets", "Service fees", "Order fee", "Tax 19 %"]);
        assert_eq!(rows.iter().map(|(_, amount)| amount.minor).sum::<i64>(), summary.total.minor);
        assert_eq!(contained(Locale::en, &summary), ["Includes tax 7 %: €6.54"]);
    }

    #[test]
    fn the_least_is_told_with_everything() {
        let fees = schedule();
        let zone = |category, price: Option<i64>| PriceZone {
            category,
            name: "A".to_owned(),
            price: price.map(|minor| Money::new(minor, fees.currency)),
        };
        let zones = [zone(0, Some(9_000)), zone(1, None), zone(2, Some(5_000))];
        // 50.00, the fee of 5.00 and the order's 3.00, both with 19 % on top.
        let text = "1 ticket from €59.52, fees and tax included.";
        assert_eq!(all_in_from(Locale::en, &zones, &fees).as_deref(), Some(text));
        assert_eq!(all_in_from(Locale::en, &zones[1..2], &fees), None);
    }
}
