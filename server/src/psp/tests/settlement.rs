//! The settlement by day.

use super::*;

const DAY_MS: i64 = 24 * 3_600_000;

#[tokio::test]
async fn a_settlement_has_every_movement_once_and_its_totals_add_up() {
    let folder = Folder::new();
    let psp = Provider::start(&folder, None).await;
    let first_day = now_ms() / DAY_MS;
    psp.switches(json!({"fee_basis_points": 150, "fee_fixed_minor": 25, "dispute_fee_minor": 1_500})).await;
    let id = psp.captured("odd \"order\"").await;
    let (_, refund) = psp.post("/v1/refunds", "", json!({"payment": id, "amount": 100, "reference": "r"})).await;
    let refund = refund["id"].as_str().unwrap();
    let (_, dispute) = psp.control("/control/disputes", json!({"payment": id, "amount": 3_000})).await;
    let dispute = dispute["id"].as_str().unwrap();
    psp.control(&format!("/control/refunds/{refund}/settle"), json!({"outcome": "failed"})).await;
    psp.control(&format!("/control/disputes/{dispute}/close"), json!({"outcome": "won"})).await;

    let odd = "\"odd \"\"order\"\"\"";
    let expected = [
        format!("{id},charge,{id},{odd},EUR,10000,175,9825"),
        format!("{refund},refund,{id},\"r\",EUR,-100,0,-100"),
        format!("{dispute},dispute,{id},{odd},EUR,-3000,0,-3000"),
        format!("{dispute},fee,{id},{odd},EUR,0,1500,-1500"),
        format!("{refund},refund_failure,{id},\"r\",EUR,100,0,100"),
        format!("{dispute},dispute_reversal,{id},{odd},EUR,3000,0,3000"),
    ];
    // A test that runs over midnight finds its lines in two files, and the first day's payout.
    let (mut lines, mut sums) = (Vec::new(), [0_i64; 3]);
    for day in first_day..=now_ms() / DAY_MS {
        let told = file(&psp, day).await.into_iter().skip(1);
        let (payouts, moved): (Vec<_>, Vec<_>) = told.partition(|line| line.contains(",payout,"));
        for payout in payouts {
            let cells = payout.rsplit(',').skip(1).map(|cell| cell.parse::<i64>().unwrap());
            sums.iter_mut().rev().zip(cells).for_each(|(sum, cell)| *sum -= cell);
        }
        lines.extend(moved);
        let summary = psp.get(&format!("/v1/settlements/{}.json", date(day))).await;
        for total in summary["totals"].as_array().unwrap() {
            for (sum, field) in sums.iter_mut().zip(["gross_minor", "fee_minor", "net_minor"]) {
                *sum += total[field].as_i64().unwrap();
            }
        }
    }
    let without_time: Vec<_> = lines.iter().map(|line| line.rsplit_once(',').unwrap().0.to_owned()).collect();
    assert_eq!(without_time, expected);
    assert_eq!(sums, [10_000, 1_675, 8_325]);
    psp.running.stop().await;
}

#[tokio::test]
async fn a_day_that_is_over_is_closed_and_today_is_not() {
    let folder = Folder::new();
    let psp = Provider::start(&folder, None).await;
    let day = now_ms() / DAY_MS;
    let past = psp.get(&format!("/v1/settlements/{}.json", date(day - 400))).await;
    assert_eq!((&past["closed"], &past["lines"], &past["totals"]), (&json!(true), &json!(0), &json!([])));
    // The day after this one is not over, whatever the clock says by now.
    assert_eq!(psp.get(&format!("/v1/settlements/{}.json", date(day + 1))).await["closed"], false);
    assert_eq!(
        file(&psp, day - 400).await,
        ["id,kind,payment,reference,currency,gross_minor,fee_minor,net_minor,at_ms"]
    );
    let other = psp.client.get(psp.url("/v1/settlements/2026-01-31.xml")).bearer_auth(KEY);
    assert_eq!(answered(other).await.0, 404);
    psp.running.stop().await;
}

#[tokio::test]
async fn a_payout_by_hand_takes_what_the_day_came_to_and_comes_back_once() {
    let folder = Folder::new();
    let psp = Provider::start(&folder, None).await;
    let first_day = now_ms() / DAY_MS;
    psp.captured("order").await;
    let (status, paid) = psp.control("/control/payouts", json!({})).await;
    let paid = paid["data"].as_array().unwrap().clone();
    if now_ms() / DAY_MS != first_day {
        // Over midnight the day before pays itself out.
        return psp.running.stop().await;
    }
    assert_eq!((status, paid.len(), &paid[0]["amount"], &paid[0]["currency"]), (200, 1, &json!(10_000), &json!("EUR")));
    let (_, again) = psp.control("/control/payouts", json!({})).await;
    assert_eq!(again["data"], json!([]), "nothing is left");

    let id = paid[0]["id"].as_str().unwrap();
    let fail = format!("/control/payouts/{id}/fail");
    let (status, failed) = psp.control(&fail, json!({})).await;
    assert_eq!((status, &failed["status"]), (200, &json!("failed")), "{failed}");
    let (status, error) = psp.control(&fail, json!({})).await;
    assert_eq!((status, &error["error"]["code"]), (409, &json!("payout_unexpected_state")));
    assert_eq!(psp.control("/control/payouts/po_none/fail", json!({})).await.0, 404);
    let lines = file(&psp, first_day).await.join("\n");
    assert!(lines.contains(&format!("{id},payout,,\"\",EUR,-10000,0,-10000,")), "{lines}");
    assert!(lines.contains(&format!("{id},payout_failure,,\"\",EUR,10000,0,10000,")), "{lines}");
    let (_, next) = psp.control("/control/payouts", json!({})).await;
    assert_eq!(next["data"][0]["amount"], 10_000, "what came back goes out again");
    psp.running.stop().await;
}

async fn file(psp: &Provider, day: i64) -> Vec<String> {
    let url = psp.url(&format!("/v1/settlements/{}.csv", date(day)));
    let response = psp.client.get(url).bearer_auth(KEY).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/csv; charset=utf-8");
    response.text().await.unwrap().lines().map(str::to_owned).collect()
}

/// The date of a day since 1970, counted year by year.
fn date(mut days: i64) -> String {
    let leap = |year: i64| i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    let mut year = 1970;
    while days >= 365 + leap(year) {
        days -= 365 + leap(year);
        year += 1;
    }
    let lengths = [31, 28 + leap(year), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, days + 1)
}
