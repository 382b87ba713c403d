//! The table of zones with their prices and totals, and the two steps of a price change.

use super::{FieldError, Preview, Sheet, Why, ZoneSign, saved, signs};
use crate::error::AppError;
use crate::features::organizer::sales::prices_api::{self as api, PricesChange, PricesSet};
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::money::{AmountError, parse_amount};
use domain::organizer::pricing::{Effect as PriceEffect, ZoneTotal, grand_total};
use domain::{Currency, Money};
use leptos::prelude::*;
use leptos_router::components::Form;

/// What a typed price means: none for an empty field.
fn read(text: &str, currency: Currency) -> Result<Option<Money>, AmountError> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    parse_amount(text, currency).map(|minor| Some(Money::new(minor, currency)))
}

fn amount_error(lang: Locale, error: AmountError) -> String {
    match error {
        AmountError::NotAnAmount => td_string!(lang, sales.price_error_not_an_amount).to_owned(),
        AmountError::Ambiguous => td_string!(lang, sales.price_error_ambiguous).to_owned(),
        AmountError::TooManyDigits(most) => td_string!(lang, sales.price_error_digits, most = most),
        AmountError::Negative => td_string!(lang, sales.price_error_negative).to_owned(),
        AmountError::TooLarge => td_string!(lang, sales.price_error_large).to_owned(),
    }
}

/// Zones, prices, totals; then saving them, or the two steps.
#[component]
pub(super) fn PriceTable(sheet: Sheet) -> impl IntoView {
    let lang = lang();
    let (published, currency) = sheet.view.with_untracked(|view| (view.published, view.currency));
    let set = ServerAction::<PricesSet>::new();
    let error = Signal::derive(move || set.value().get().and_then(Result::err));
    sheet.refresh_after(move || set.value().get(), false, || ());
    let id = sheet.id();
    let version = move || sheet.view.read().version.to_string();
    if currency.is_none() {
        return view! {
            <p class="notice notice-care" data-testid="no-currency">{td_string!(lang, sales.price_no_currency)}</p>
            <Table sheet error field="prices[]"/>
        }
        .into_any();
    }
    if !sheet.editing {
        return view! { <Table sheet error field=""/> }.into_any();
    }
    if published {
        return view! { <Published sheet/> }.into_any();
    }
    view! {
        <ActionForm action=set attr:class="prices-form" attr:data-testid="prices-form">
            <Why error/>
            <input type="hidden" name="id" value=id.to_string()/>
            <input type="hidden" name="version" value=version/>
            <Table sheet error field="prices[]"/>
            <button class="button button-accent" type="submit" data-testid="save-prices" disabled=move || set.pending().get()>
                {td_string!(lang, sales.price_save)}
            </button>
            <p class="prices-done" role="status">
                {move || set.value().get().is_some_and(|answer| answer.is_ok()).then(|| td_string!(lang, sales.price_saved))}
            </p>
        </ActionForm>
    }
    .into_any()
}

/// A published performance: the prices go into the address, and the page then shows what they do.
#[component]
fn Published(sheet: Sheet) -> impl IntoView {
    let lang = lang();
    let id = sheet.id();
    let Preview { asked, answer: preview } = expect_context();
    let zones = sheet.view.with_untracked(|view| view.zones.len());
    if let Some(typed) = asked.get_untracked().filter(|typed| typed.len() == zones) {
        sheet.typed.set(typed);
    }
    // At its field once the page lives; the sentence beneath the form is there in any case.
    let error = RwSignal::new(None);
    Effect::new(move |_| error.set(preview.get().flatten().and_then(Result::err)));
    view! {
        <Form action=api::page_of(id) method="get" noscroll=true attr:class="prices-form" attr:data-testid="prices-form">
            <Table sheet error=error.into() field="p"/>
            <button class="button" type="submit" data-testid="preview-prices">{td_string!(lang, sales.price_preview)}</button>
        </Form>
        <Suspense>
            {move || Suspend::new(async move {
                match preview.await {
                    Some(Ok(effect)) => view! { <Change sheet effect typed=asked.get_untracked().unwrap_or_default()/> }.into_any(),
                    Some(Err(error)) => view! { <Why error=Some(error)/> }.into_any(),
                    None => ().into_any(),
                }
            })}
        </Suspense>
    }
    .into_any()
}

/// What the change does, and the button that does it.
#[component]
fn Change(sheet: Sheet, effect: PriceEffect, typed: Vec<String>) -> impl IntoView {
    let lang = lang();
    let change = ServerAction::<PricesChange>::new();
    let error = Signal::derive(move || change.value().get().and_then(Result::err));
    let navigate = leptos_router::hooks::use_navigate();
    let page = api::page_of(sheet.id());
    let target = page.clone();
    sheet.refresh_after(
        move || change.value().get(),
        false,
        move || navigate(&target, leptos_router::NavigateOptions { scroll: false, ..Default::default() }),
    );
    let hidden =
        typed.into_iter().map(|text| view! { <input type="hidden" name="prices[]" value=text/> }).collect_view();
    let total = signed(lang, effect.difference);
    let version = effect.version.to_string();
    view! {
        <section class="prices-effect" data-testid="effect" aria-labelledby="effect-title">
            <h2 id="effect-title">{td_string!(lang, sales.price_effect_title)}</h2>
            <EffectTable effect/>
            <p>{td_string!(lang, sales.price_effect_sum)} " " <b data-testid="difference">{total}</b></p>
            <p>{td_string!(lang, sales.price_effect_note)}</p>
            <ActionForm action=change attr:class="prices-confirm" attr:data-testid="confirm-form">
                <Why error/>
                <input type="hidden" name="id" value=sheet.id().to_string()/>
                <input type="hidden" name="version" value=version/>
                {hidden}
                <button class="button button-accent" type="submit" data-testid="change-prices" disabled=move || change.pending().get()>
                    {td_string!(lang, sales.price_confirm)}
                </button>
                <a class="button" href=page>{td_string!(lang, sales.price_cancel)}</a>
            </ActionForm>
        </section>
    }
    .into_any()
}

/// A difference with its sign, also above zero.
fn signed(lang: Locale, amount: Money) -> String {
    let plus = if amount.minor > 0 { "+" } else { "" };
    format!("{plus}{}", format::money(lang, amount))
}

#[component]
fn EffectTable(effect: PriceEffect) -> impl IntoView {
    let lang = lang();
    let price = move |price: Option<Money>| {
        price.map_or_else(|| td_string!(lang, sales.price_none).to_owned(), |price| format::money(lang, price))
    };
    let rows = effect
        .zones
        .into_iter()
        .map(|zone| {
            view! {
                <tr data-testid="effect-zone" data-zone=zone.zone.to_string()>
                    <th scope="row">{zone.name}</th>
                    <td>{price(zone.old)} " → " <b>{price(zone.new)}</b></td>
                    <td>{format::number(zone.sellable)}</td>
                    <td>{format::number(zone.held)}</td>
                    <td>{format::number(zone.sold)}</td>
                    <td>{signed(lang, zone.difference)}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <div class="prices-scroll" tabindex="0">
            <table class="prices-table">
                <thead>
                    <tr>
                        <th scope="col">{td_string!(lang, sales.price_zone)}</th>
                        <th scope="col">{td_string!(lang, sales.price_price)}</th>
                        <th scope="col">{td_string!(lang, sales.price_effect_sellable)}</th>
                        <th scope="col">{td_string!(lang, sales.price_effect_held)}</th>
                        <th scope="col">{td_string!(lang, sales.price_effect_sold)}</th>
                        <th scope="col">{td_string!(lang, sales.price_effect_difference)}</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// The zones. `field` names the inputs: `p` is followed by the zone's index; empty for none.
#[component]
fn Table(sheet: Sheet, error: Signal<Option<AppError>>, field: &'static str) -> impl IntoView {
    let lang = lang();
    let rows = move || {
        let view = sheet.view.get();
        let signs = signs(&view.zones);
        let rows = view.zones.into_iter().zip(signs);
        rows.map(|(zone, sign)| view! { <Row sheet zone sign error field/> }).collect_view()
    };
    let total = Memo::new(move |_| {
        let view = sheet.view.read();
        let typed = sheet.typed.read();
        let zones: Vec<ZoneTotal> =
            (0..).zip(&view.zones).map(|(at, zone)| with_typed(zone, typed.get(at), view.currency)).collect();
        grand_total(&zones, view.currency)
    });
    let gross = move || total.get().gross.map(|gross| format::money(lang, gross));
    let unpriced = move || match total.get().unpriced {
        0 => None,
        count => Some(td_string!(lang, sales.price_unpriced, count = format::number(count))),
    };
    view! {
        <div class="prices-scroll" tabindex="0">
            <table class="prices-table" data-testid="price-table">
                <thead>
                    <tr>
                        <th scope="col">{td_string!(lang, sales.price_zone)}</th>
                        <th scope="col">{td_string!(lang, sales.price_seats)}</th>
                        <th scope="col">{td_string!(lang, sales.price_price)}</th>
                        <th scope="col">{td_string!(lang, sales.price_gross)}</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
                <tfoot>
                    <tr>
                        <th scope="row">{td_string!(lang, sales.price_total)}</th>
                        <td data-testid="total-seats">
                            {move || format::number(total.get().seats)}
                            <small>{move || counts(lang, total.get().blocked, total.get().standing, None)}</small>
                        </td>
                        <td>{move || sheet.view.read().currency.map(|currency| currency.to_string())}</td>
                        <td data-testid="total-gross">{gross}</td>
                    </tr>
                </tfoot>
            </table>
        </div>
        <p class="prices-open" role="status" data-testid="unpriced">{unpriced}</p>
    }
    .into_any()
}

/// A zone with the price that stands in its field; with none while the field can't be read.
fn with_typed(zone: &ZoneTotal, text: Option<&String>, currency: Option<Currency>) -> ZoneTotal {
    let price = match (text, currency) {
        (Some(text), Some(currency)) => read(text, currency).ok().flatten(),
        _ => zone.price,
    };
    ZoneTotal { price, ..zone.clone() }
}

/// "3 off sale · 200 standing · 4 held · 100 sold", without what is zero.
fn counts(lang: Locale, blocked: u32, standing: u32, taken: Option<(u32, u32)>) -> String {
    let (held, sold) = taken.unwrap_or_default();
    let mut parts = Vec::new();
    if blocked > 0 {
        parts.push(td_string!(lang, sales.price_blocked, count = format::number(blocked)));
    }
    if standing > 0 {
        parts.push(td_string!(lang, sales.price_standing, count = format::number(standing)));
    }
    if held > 0 {
        parts.push(td_string!(lang, sales.price_held, count = format::number(held)));
    }
    if sold > 0 {
        parts.push(td_string!(lang, sales.price_sold, count = format::number(sold)));
    }
    parts.join(" · ")
}

#[component]
fn Row(
    sheet: Sheet,
    zone: ZoneTotal,
    sign: (char, usize),
    error: Signal<Option<AppError>>,
    field: &'static str,
) -> impl IntoView {
    let lang = lang();
    let at = usize::from(zone.zone);
    let currency = sheet.view.with_untracked(|view| view.currency);
    let stored = saved(&zone);
    let text = Memo::new(move |_| sheet.typed.read().get(at).cloned().unwrap_or_else(|| stored.clone()));
    let gross = {
        let zone = zone.clone();
        move || with_typed(&zone, Some(&text.get()), currency).gross().map(|gross| format::money(lang, gross))
    };
    let price = match currency.filter(|_| !field.is_empty()) {
        Some(currency) => {
            let name = if field == "p" { format!("p{at}") } else { field.to_owned() };
            let label = td_string!(lang, sales.price_input, zone = &zone.name, currency = currency);
            view! { <PriceField sheet at text currency name label error/> }.into_any()
        }
        None => zone
            .price
            .map_or_else(|| td_string!(lang, sales.price_none).to_owned(), |price| format::money(lang, price))
            .into_any(),
    };
    view! {
        <tr data-testid="zone" data-zone=at.to_string()>
            <th scope="row"><span class="prices-name"><ZoneSign letter=sign.0 colour=sign.1/>{zone.name}</span></th>
            <td data-testid="zone-seats">
                {format::number(zone.seats)}
                <small>{counts(lang, zone.blocked, zone.standing, Some((zone.held, zone.sold)))}</small>
            </td>
            <td>{price}</td>
            <td data-testid="zone-gross">{gross}</td>
        </tr>
    }
    .into_any()
}

/// The field of one zone's price; what can't be read is said at once.
#[component]
fn PriceField(
    sheet: Sheet,
    at: usize,
    text: Memo<String>,
    currency: Currency,
    name: String,
    label: String,
    error: Signal<Option<AppError>>,
) -> impl IntoView {
    let lang = lang();
    let wrong = move || read(&text.get(), currency).err().map(|error| amount_error(lang, error));
    let write = move |ev: leptos::ev::Event| {
        sheet.typed.update(|typed| {
            let stored: Vec<String> = sheet.view.read_untracked().zones.iter().map(saved).collect();
            if typed.len() != stored.len() {
                *typed = stored;
            }
            if let Some(slot) = typed.get_mut(at) {
                *slot = event_target_value(&ev);
            }
        });
    };
    view! {
        <input
            type="text"
            inputmode="decimal"
            autocomplete="off"
            maxlength="40"
            name=name
            aria-label=label
            value=text.get_untracked()
            prop:value=move || text.get()
            on:input=write
            aria-invalid=move || wrong().map(|_| "true")
            data-testid="price"
            data-zone=at.to_string()
        />
        <small class="prices-error" role="status">{wrong}</small>
        {move || wrong().is_none().then(|| view! { <FieldError error field=format!("prices[{at}]")/> })}
    }
    .into_any()
}
