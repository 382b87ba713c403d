//! The form of a performance's terms.
//!
//! Adding and removing a row, and the preview, are steps of the same form that go by GET: the page then
//! shows what its address says, and nothing is saved. With JavaScript they happen on the page.

use super::super::api::{OrganizerTermsSave, page_of};
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::PerformanceId;
use domain::refund::policy::TIERS_MAX;
use domain::refund::typed::{TICKED, TermsForm, UNITS};
use leptos::{html, prelude::*};
use leptos_router::params::ParamsMap;

/// The step of the form that the address carries: `add`, `show`, or the number of the row to remove.
const STEP: &str = "rows";

/// As many days as rates: an address may have lost some.
fn even_out(form: &mut TermsForm) {
    let rows = form.days.len().max(form.kept.len());
    form.days.resize(rows, String::new());
    form.kept.resize(rows, String::new());
}

/// Another row, as far as there may be one.
fn add_row(form: &mut TermsForm) {
    if form.days.len() < TIERS_MAX {
        form.days.push(String::new());
        form.kept.push(String::new());
    }
}

/// Without a row.
fn remove_row(form: &mut TermsForm, at: usize) {
    for list in [&mut form.days, &mut form.kept] {
        if at < list.len() {
            list.remove(at);
        }
    }
}

/// The form as the address has it, after the step that it names; none where it names none.
pub(super) fn of_query(query: &ParamsMap) -> Option<TermsForm> {
    let step = query.get_str(STEP)?;
    let text = |name: &str| query.get(name).unwrap_or_default();
    let tick = |name: &str| query.get_str(name).map(|_| TICKED.to_owned());
    let list = |name: &str| query.get_all(name).unwrap_or_default().into_iter().take(TIERS_MAX).collect();
    let mut form = TermsForm {
        allowed: tick("form[allowed]"),
        ends: text("form[ends]"),
        unit: text("form[unit]"),
        days: list("form[days][]"),
        kept: list("form[kept][]"),
        returns_service_fee: tick("form[returns_service_fee]"),
        returns_order_fee: tick("form[returns_order_fee]"),
        resells: tick("form[resells]"),
    };
    even_out(&mut form);
    if step == "add" {
        add_row(&mut form);
    } else if let Ok(at) = step.parse() {
        remove_row(&mut form, at);
    }
    Some(form)
}

/// The form.
#[component]
pub(super) fn Editor(
    id: PerformanceId,
    /// The version that it begins from.
    version: i32,
    /// What stands in it.
    form: RwSignal<TermsForm>,
    action: ServerAction<OrganizerTermsSave>,
) -> impl IntoView {
    let lang = lang();
    let begun = form.get_untracked();
    let units = UNITS
        .iter()
        .map(|(name, _)| {
            let selected = begun.unit == *name;
            view! { <option value=*name selected=selected>{unit_text(lang, name)}</option> }
        })
        .collect_view();
    let show = format!(
        "<button class=\"button\" type=\"submit\" formmethod=\"get\" formaction=\"{}\" formnovalidate name=\"{STEP}\" value=\"show\" data-testid=\"preview-terms\">{}</button>",
        page_of(&id.to_string()),
        td_string!(lang, refunds.preview)
    );
    view! {
        <ActionForm action attr:class="form terms-form" attr:data-testid="terms-form">
            // The Enter key presses the first button of a form: not one that takes a row away.
            <button class="visually-hidden" type="submit" tabindex="-1" aria-hidden="true">{td_string!(lang, refunds.save)}</button>
            <input type="hidden" name="id" value=id.to_string()/>
            <input type="hidden" name="version" value=version.to_string()/>
            <Tick
                name="form[allowed]"
                label=td_string!(lang, refunds.allowed)
                ticked=begun.allowed.is_some()
                write=Callback::new(move |on: Option<String>| form.update(|form| form.allowed = on))
            />
            <div class="terms-ends">
                <label class="field">
                    <span>{td_string!(lang, refunds.ends)}</span>
                    <Typed
                        name="form[ends]"
                        value=begun.ends
                        write=Callback::new(move |text: String| form.update(|form| form.ends = text))
                    />
                </label>
                <label class="field">
                    <span>{td_string!(lang, refunds.unit)}</span>
                    <select
                        name="form[unit]"
                        on:change=move |event| form.update(|form| form.unit = event_target_value(&event))
                        data-testid="unit"
                    >
                        {units}
                    </select>
                </label>
            </div>
            <Tiers id form/>
            <Boxes form/>
            <p class="actions">
                <button class="button button-accent" type="submit" disabled=move || action.pending().get() data-testid="save-terms">
                    {td_string!(lang, refunds.save)}
                </button>
                <noscript inner_html=show></noscript>
            </p>
        </ActionForm>
    }
    .into_any()
}

/// What comes back besides, and what becomes of the seats.
#[component]
fn Boxes(form: RwSignal<TermsForm>) -> impl IntoView {
    let lang = lang();
    let begun = form.get_untracked();
    view! {
        <Tick
            name="form[returns_service_fee]"
            label=td_string!(lang, refunds.returns_service_fee)
            ticked=begun.returns_service_fee.is_some()
            write=Callback::new(move |on: Option<String>| form.update(|form| form.returns_service_fee = on))
        />
        <Tick
            name="form[returns_order_fee]"
            label=td_string!(lang, refunds.returns_order_fee)
            ticked=begun.returns_order_fee.is_some()
            write=Callback::new(move |on: Option<String>| form.update(|form| form.returns_order_fee = on))
        />
        <Tick
            name="form[resells]"
            label=td_string!(lang, refunds.resells)
            ticked=begun.resells.is_some()
            write=Callback::new(move |on: Option<String>| form.update(|form| form.resells = on))
        />
    }
    .into_any()
}

fn unit_text(lang: Locale, name: &str) -> &'static str {
    match name {
        "days" => td_string!(lang, refunds.unit_days),
        "hours" => td_string!(lang, refunds.unit_hours),
        _ => td_string!(lang, refunds.unit_minutes),
    }
}

/// The rows. They are made anew when one comes or goes, and else keep what is typed in them.
#[component]
fn Tiers(id: PerformanceId, form: RwSignal<TermsForm>) -> impl IntoView {
    let lang = lang();
    let shape = RwSignal::new(0_u32);
    let change = Callback::new(move |step: Option<usize>| {
        form.update(|form| match step {
            Some(at) => remove_row(form, at),
            None => add_row(form),
        });
        shape.update(|shape| *shape = shape.wrapping_add(1));
    });
    let rows = move || {
        shape.track();
        let (days, kept) = form.with_untracked(|form| (form.days.clone(), form.kept.clone()));
        let text = |list: &[String], at: usize| list.get(at).cloned().unwrap_or_default();
        (0..days.len().max(kept.len()))
            .map(|at| view! { <Tier id form at days=text(&days, at) kept=text(&kept, at) change/> })
            .collect_view()
    };
    let full = move || form.with(|form| form.days.len() >= TIERS_MAX);
    let page = page_of(&id.to_string());
    view! {
        <fieldset class="terms-tiers">
            <legend>{td_string!(lang, refunds.tiers)}</legend>
            <p class="quiet">{td_string!(lang, refunds.tiers_text)}</p>
            <ul>{rows}</ul>
            <button
                class="button"
                type="submit"
                formmethod="get"
                formaction=page
                formnovalidate
                name=STEP
                value="add"
                disabled=full
                on:click=move |event| {
                    event.prevent_default();
                    change.run(None);
                }
                data-testid="add-tier"
            >
                {td_string!(lang, refunds.tier_add)}
            </button>
        </fieldset>
    }
    .into_any()
}

#[component]
fn Tier(
    id: PerformanceId,
    form: RwSignal<TermsForm>,
    at: usize,
    days: String,
    kept: String,
    change: Callback<Option<usize>>,
) -> impl IntoView {
    let lang = lang();
    let row = at + 1;
    let set = move |list: fn(&mut TermsForm) -> &mut Vec<String>, text: String| {
        form.update(|form| {
            if let Some(slot) = list(form).get_mut(at) {
                *slot = text;
            }
        });
    };
    view! {
        <li class="terms-tier" data-testid="tier">
            <label class="field">
                <span>{td_string!(lang, refunds.tier_days)}</span>
                <Typed
                    name="form[days][]"
                    value=days
                    label=td_string!(lang, refunds.tier_days_label, row = row)
                    write=Callback::new(move |text: String| set(|form| &mut form.days, text))
                />
            </label>
            <label class="field">
                <span>{td_string!(lang, refunds.tier_kept)}</span>
                <Typed
                    name="form[kept][]"
                    value=kept
                    label=td_string!(lang, refunds.tier_kept_label, row = row)
                    write=Callback::new(move |text: String| set(|form| &mut form.kept, text))
                />
            </label>
            <button
                class="button"
                type="submit"
                formmethod="get"
                formaction=page_of(&id.to_string())
                formnovalidate
                name=STEP
                value=at.to_string()
                aria-label=td_string!(lang, refunds.tier_remove_label, row = row)
                on:click=move |event| {
                    event.prevent_default();
                    change.run(Some(at));
                }
                data-testid="remove-tier"
            >
                {td_string!(lang, refunds.tier_remove)}
            </button>
        </li>
    }
    .into_any()
}

/// A field that tells what stands in it, also what was typed before the page came alive.
#[component]
fn Typed(
    name: &'static str,
    value: String,
    write: Callback<String>,
    /// Its name, where the one beside it isn't enough.
    #[prop(optional, into)]
    label: Option<String>,
) -> impl IntoView {
    let node = NodeRef::<html::Input>::new();
    let begun = value.clone();
    Effect::new(move |_| {
        let Some(input) = node.get() else { return };
        let text = input.value();
        if text != begun {
            write.run(text);
        }
    });
    view! {
        <input
            node_ref=node
            type="text"
            inputmode="decimal"
            autocomplete="off"
            maxlength="10"
            name=name
            value=value
            aria-label=label
            on:input=move |event| write.run(event_target_value(&event))
            data-testid=name
        />
    }
    .into_any()
}

/// A box that tells whether it is ticked, also when it was before the page came alive.
#[component]
fn Tick(name: &'static str, label: &'static str, ticked: bool, write: Callback<Option<String>>) -> impl IntoView {
    let node = NodeRef::<html::Input>::new();
    let tell = move |on: bool| write.run(on.then(|| TICKED.to_owned()));
    Effect::new(move |_| {
        let Some(input) = node.get() else { return };
        if input.checked() != ticked {
            tell(input.checked());
        }
    });
    view! {
        <label class="sales-check">
            <input
                node_ref=node
                type="checkbox"
                name=name
                value=TICKED
                checked=ticked
                on:change=move |event| tell(event_target_checked(&event))
                data-testid=name
            />
            <span>{label}</span>
        </label>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(step: &str) -> ParamsMap {
        let pairs = [
            ("form[allowed]", "yes"),
            ("form[ends]", "2"),
            ("form[unit]", "days"),
            ("form[days][]", "30"),
            ("form[days][]", "7"),
            ("form[kept][]", "0"),
            ("form[kept][]", "12.5"),
            (STEP, step),
        ];
        pairs.into_iter().collect()
    }

    #[test]
    fn an_address_brings_the_form_back_after_its_step() {
        let form = |step: &str| of_query(&query(step)).unwrap();
        assert_eq!(form("show").policy().unwrap().tiers.len(), 2);
        assert!(form("show").allowed.is_some() && form("show").resells.is_none());
        assert_eq!(form("add").days, ["30", "7", ""]);
        assert_eq!(form("0").days, ["7"]);
        assert_eq!(form("0").kept, ["12.5"]);
        assert_eq!(form("9"), form("show"), "there is no such row");
        assert_eq!(of_query(&ParamsMap::new()), None);
    }

    #[test]
    fn there_are_never_more_rows_than_a_policy_can_have() {
        let mut form = TermsForm::default();
        for _ in 0..TIERS_MAX + 3 {
            add_row(&mut form);
        }
        assert_eq!((form.days.len(), form.kept.len()), (TIERS_MAX, TIERS_MAX));
    }
}
