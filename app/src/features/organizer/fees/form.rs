//! The form of a currency's fees: what is wrong is told beside its field while it is typed, and the
//! example is billed by the rule that bills orders. Without JavaScript the server says the same.

use super::api::FeesSave;
use crate::components::fees::Sums;
use crate::error::AppError;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::money::fees::{FeeSchedule, TaxMode};
use domain::money::summary::Summary;
use domain::organizer::fees::{FeesForm, example, example_price};
use domain::{Code, Currency, Refusal};
use leptos::prelude::*;

/// Longest text of a field: the greatest amount in groups fits.
const FIELD_MAX_CHARS: &str = "24";

/// A text field of the form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    ServiceFixed,
    ServiceRate,
    OrderFixed,
    TicketTax,
    ServiceTax,
    OrderTax,
}

impl Field {
    const ALL: [Self; 6] =
        [Self::ServiceFixed, Self::ServiceRate, Self::OrderFixed, Self::TicketTax, Self::ServiceTax, Self::OrderTax];

    fn name(self) -> &'static str {
        match self {
            Self::ServiceFixed => "service_fixed",
            Self::ServiceRate => "service_rate",
            Self::OrderFixed => "order_fixed",
            Self::TicketTax => "ticket_tax",
            Self::ServiceTax => "service_tax",
            Self::OrderTax => "order_tax",
        }
    }

    fn label(self, lang: Locale) -> &'static str {
        match self {
            Self::ServiceFixed | Self::OrderFixed => td_string!(lang, fees.amount),
            Self::ServiceRate => td_string!(lang, fees.rate),
            Self::TicketTax | Self::ServiceTax | Self::OrderTax => td_string!(lang, fees.tax),
        }
    }

    /// The part of the form that it is in.
    fn part(self, lang: Locale) -> &'static str {
        match self {
            Self::ServiceFixed | Self::ServiceRate | Self::ServiceTax => td_string!(lang, fees.part_service),
            Self::OrderFixed | Self::OrderTax => td_string!(lang, fees.part_order),
            Self::TicketTax => td_string!(lang, fees.part_tickets),
        }
    }

    /// What is expected, where something else was typed.
    fn expected(self, lang: Locale) -> &'static str {
        match self {
            Self::ServiceFixed | Self::OrderFixed => td_string!(lang, fees.bad_amount),
            Self::ServiceRate | Self::TicketTax | Self::ServiceTax | Self::OrderTax => td_string!(lang, fees.bad_rate),
        }
    }

    fn text(self, form: &mut FeesForm) -> &mut String {
        match self {
            Self::ServiceFixed => &mut form.service_fixed,
            Self::ServiceRate => &mut form.service_rate,
            Self::OrderFixed => &mut form.order_fixed,
            Self::TicketTax => &mut form.ticket_tax,
            Self::ServiceTax => &mut form.service_tax,
            Self::OrderTax => &mut form.order_tax,
        }
    }

    /// The field that a refusal names.
    fn of(refusal: &Refusal) -> Option<Self> {
        let (name, _) = refusal.message.split_once(':')?;
        Self::ALL.into_iter().find(|field| field.name() == name)
    }
}

/// How the tax of a part is counted.
#[derive(Clone, Copy)]
enum Mode {
    Ticket,
    Service,
    Order,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Ticket => "ticket_mode",
            Self::Service => "service_mode",
            Self::Order => "order_mode",
        }
    }

    fn text(self, form: &mut FeesForm) -> &mut String {
        match self {
            Self::Ticket => &mut form.ticket_mode,
            Self::Service => &mut form.service_mode,
            Self::Order => &mut form.order_mode,
        }
    }
}

/// Why the form was refused, more closely than its code says.
pub(super) fn refusal_text(lang: Locale, error: &AppError) -> String {
    if error.code() == Code::WrongState {
        return td_string!(lang, fees.moved).to_owned();
    }
    match Field::of(&error.0) {
        Some(field) if error.code() == Code::InvalidInput => {
            format!("{} – {}: {}", field.part(lang), field.label(lang), field.expected(lang))
        }
        _ if error.0.message.starts_with("currency:") => td_string!(lang, fees.bad_currency).to_owned(),
        _ => error.text(lang).to_owned(),
    }
}

/// What is typed, and what comes of it.
#[derive(Clone, Copy)]
struct Typed {
    form: RwSignal<FeesForm>,
    read: Memo<Result<FeeSchedule, Refusal>>,
}

impl Typed {
    fn new(form: FeesForm) -> Self {
        let form = RwSignal::new(form);
        Self { form, read: Memo::new(move |_| form.with(FeesForm::schedule)) }
    }

    fn is_wrong(self, field: Field) -> bool {
        self.read.with(|read| read.as_ref().err().and_then(Field::of) == Some(field))
    }
}

/// The form of one currency, beside its example.
#[component]
pub(super) fn Card(
    /// The version that it begins from; 0 for a new one.
    version: i32,
    /// What it shows at first.
    form: FeesForm,
    /// Where it goes.
    action: ServerAction<FeesSave>,
    /// For a new one, the currencies that have fees already.
    #[prop(optional)]
    known: Vec<String>,
) -> impl IntoView {
    let lang = lang();
    let code = form.currency.clone();
    let typed = Typed::new(form);
    let currency = if version == 0 {
        view! { <CurrencyChoice known typed/> }.into_any()
    } else {
        view! { <input type="hidden" name="form[currency]" value=code/> }.into_any()
    };
    view! {
        <div class="fees-columns">
            <ActionForm action attr:class="fees-form" attr:data-testid="fees-form">
                <input type="hidden" name="version" value=version.to_string()/>
                {currency}
                <fieldset class="fees-fields">
                    <legend>{td_string!(lang, fees.part_tickets)}</legend>
                    <TextField field=Field::TicketTax typed/>
                    <ModeField mode=Mode::Ticket typed/>
                </fieldset>
                <fieldset class="fees-fields">
                    <legend>{td_string!(lang, fees.part_service)}</legend>
                    <TextField field=Field::ServiceFixed typed/>
                    <TextField field=Field::ServiceRate typed/>
                    <TextField field=Field::ServiceTax typed/>
                    <ModeField mode=Mode::Service typed/>
                </fieldset>
                <fieldset class="fees-fields">
                    <legend>{td_string!(lang, fees.part_order)}</legend>
                    <TextField field=Field::OrderFixed typed/>
                    <TextField field=Field::OrderTax typed/>
                    <ModeField mode=Mode::Order typed/>
                </fieldset>
                <button class="button button-accent" type="submit" disabled=move || action.pending().get() data-testid="save-fees">
                    {td_string!(lang, fees.save)}
                </button>
            </ActionForm>
            <Example typed/>
        </div>
    }
    .into_any()
}

#[component]
fn CurrencyChoice(known: Vec<String>, typed: Typed) -> impl IntoView {
    let lang = lang();
    let chosen = typed.form.with_untracked(|form| form.currency.clone());
    let options = Currency::in_force()
        .filter(|code| !known.iter().any(|known| known == code))
        .map(|code| {
            let selected = chosen == code;
            view! { <option value=code selected=selected>{code}</option> }
        })
        .collect_view();
    view! {
        <label class="field">
            <span>{td_string!(lang, fees.currency)}</span>
            <select
                name="form[currency]"
                required
                data-testid="fees-currency"
                on:change=move |event| typed.form.update(|form| form.currency = event_target_value(&event))
            >
                <option value="">{td_string!(lang, fees.choose_currency)}</option>
                {options}
            </select>
        </label>
    }
    .into_any()
}

/// An amount or a rate, with what is wrong with it.
#[component]
fn TextField(field: Field, typed: Typed) -> impl IntoView {
    let lang = lang();
    let value = typed.form.with_untracked(|form| field.text(&mut form.clone()).clone());
    let wrong = Memo::new(move |_| typed.is_wrong(field));
    let id = typed.form.with_untracked(|form| format!("wrong-{}-{}", form.currency, field.name()));
    // Beside the field: its name is its label alone.
    view! {
        <div class="fees-field">
            <label class="field">
                <span>{field.label(lang)}</span>
                <input
                    name=format!("form[{}]", field.name())
                    inputmode="decimal"
                    autocomplete="off"
                    maxlength=FIELD_MAX_CHARS
                    placeholder="0"
                    value=value
                    data-testid=field.name()
                    aria-describedby=id.clone()
                    aria-invalid=move || wrong.get().then_some("true")
                    on:input=move |event| typed.form.update(|form| *field.text(form) = event_target_value(&event))
                />
            </label>
            <small class="fees-wrong" id=id aria-live="polite" data-testid=format!("wrong-{}", field.name())>
                {move || wrong.get().then(|| field.expected(lang))}
            </small>
        </div>
    }
    .into_any()
}

#[component]
fn ModeField(mode: Mode, typed: Typed) -> impl IntoView {
    let lang = lang();
    let chosen = typed.form.with_untracked(|form| mode.text(&mut form.clone()).clone());
    let chosen = TaxMode::parse(&chosen).unwrap_or_default();
    let options = TaxMode::ALL
        .iter()
        .map(|each| {
            let words = match each {
                TaxMode::Inclusive => td_string!(lang, fees.mode_inclusive),
                TaxMode::Added => td_string!(lang, fees.mode_added),
            };
            view! { <option value=each.as_str() selected=*each == chosen>{words}</option> }
        })
        .collect_view();
    view! {
        <label class="field">
            <span>{td_string!(lang, fees.mode)}</span>
            <select
                name=format!("form[{}]", mode.name())
                data-testid=mode.name()
                on:change=move |event| typed.form.update(|form| *mode.text(form) = event_target_value(&event))
            >
                {options}
            </select>
        </label>
    }
    .into_any()
}

/// What two tickets come to by what is typed.
#[component]
fn Example(typed: Typed) -> impl IntoView {
    let lang = lang();
    let shown = move || {
        let bill = typed.read.with(|read| {
            let schedule = read.as_ref().ok()?;
            Some((*schedule, example(schedule).ok()?))
        });
        match bill {
            Some((schedule, bill)) => {
                let price = format::money(lang, example_price(schedule.currency));
                let summary = Summary::of(&schedule, &bill);
                let total = summary.total;
                view! {
                    <h3>{td_string!(lang, fees.example, price = price)}</h3>
                    <Sums charges=Some(summary) total/>
                }
                .into_any()
            }
            None => view! { <p class="quiet">{td_string!(lang, fees.example_wait)}</p> }.into_any(),
        }
    };
    view! { <div class="fees-example" data-testid="fees-example">{shown}</div> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_found_by_the_name_that_a_refusal_gives_it() {
        for field in Field::ALL {
            let mut form = FeesForm { currency: "EUR".to_owned(), ..FeesForm::default() };
            "x".clone_into(field.text(&mut form));
            let refusal = form.schedule().unwrap_err();
            assert!(Field::of(&refusal) == Some(field), "{}", refusal.message);
            let text = refusal_text(Locale::en, &AppError(refusal));
            assert!(text.starts_with(field.part(Locale::en)) && text.ends_with(field.expected(Locale::en)), "{text}");
        }
    }
}
