// Tickets go back without JavaScript: the choice is in the address, the quote comes with the page, and
// finance turns it down with a note that the fan reads.

import { Member } from "../src/organizer";
import { allowRefunds, buySeats } from "../src/refunds";
import { expect, test } from "../src/test";

test("a fan asks by forms alone, and finance answers by forms alone", async ({ fan, page, browser, baseURL }) => {
  test.setTimeout(120_000);
  const { id } = await fan.openPerformance();
  const context = await browser.newContext({ locale: "en-GB", javaScriptEnabled: false });
  const staff = await context.newPage();
  await allowRefunds(await Member.of(staff, baseURL!, "finance"), id);
  await fan.enter(id);
  const { order, seats } = await buySeats(fan, id, 1);
  const refund = page.getByTestId("refund");

  await test.step("choose, look, confirm", async () => {
    await page.goto(`/orders/${order}`);
    await page.getByTestId("give-tickets-back").click();
    await expect(page.getByTestId("choose-hint")).toBeVisible();
    await page.locator(`input[data-testid="refund-seat"][value="${seats[0]}"]`).check();
    await page.getByTestId("refund-show").click();
    await page.waitForURL(`**/orders/${order}/refund?seats=${seats[0]}`);
    const amount = await page.getByTestId("quote-returns").innerText();
    await expect(page.getByTestId("quote-kept")).toBeVisible();
    await expect(page.getByTestId("refund-ask")).toContainText(amount);
    await page.getByTestId("refund-ask").click();
    await page.waitForURL(`**/orders/${order}/refund?asked=1`);
    await expect(page.getByTestId("asked")).toBeVisible();
    await expect(refund).toHaveAttribute("data-status", "requested");
    await expect(refund).toContainText(amount);
  });

  await test.step("finance turns it down", async () => {
    await staff.goto("/organizer/money/refunds?status=requested");
    const row = staff.locator(`[data-testid="refund"][data-order="${order}"]`);
    const reject = row.getByTestId("reject");
    await reject.locator("summary").click();
    await reject.getByTestId("note").fill("The seat was used.");
    await reject.getByTestId("decide-now").click();
    await staff.waitForURL("**/organizer/money/refunds?status=requested");
    await expect(row).toHaveCount(0);
  });

  await test.step("the fan reads why, and has the ticket", async () => {
    await page.reload();
    await expect(refund).toHaveAttribute("data-status", "rejected");
    await expect(refund).toContainText("The seat was used.");
    await page.getByTestId("to-order").click();
    await expect(page.getByTestId("ticket")).toHaveCount(1);
  });

  await test.step("rows of a policy come and go by submitting, and nothing is saved by it", async () => {
    await staff.goto(`/organizer/performances/${id}/refunds`);
    const rows = staff.getByTestId("tier");
    const before = await rows.count();
    await staff.getByTestId("add-tier").click();
    await expect(rows).toHaveCount(before + 1);
    await rows.last().getByTestId("form[days][]").fill("400");
    await rows.last().getByTestId("form[kept][]").fill("2.5");
    await staff.getByTestId("preview-terms").click();
    await expect(staff.getByTestId("preview")).toContainText("2.5% of the ticket price is kept");
    await rows.last().getByTestId("remove-tier").click();
    await expect(rows).toHaveCount(before);
    await staff.goto(`/organizer/performances/${id}/refunds`);
    await expect(rows).toHaveCount(before);
  });

  await test.step("what was refused stands in its fields", async () => {
    const days = staff.getByTestId("tier").last().getByTestId("form[days][]");
    await days.fill("soon");
    await staff.getByTestId("save-terms").click();
    await expect(staff.getByTestId("refusal-detail")).toContainText("days");
    await expect(days).toHaveValue("soon");
    await staff.goto("/organizer/money/refunds");
    await staff.getByTestId("automatic").fill("much");
    await staff.getByTestId("save-rule").click();
    await expect(staff.getByTestId("refusal")).toHaveAttribute("data-code", "invalid_input");
    await expect(staff.getByTestId("automatic")).toHaveValue("much");
  });
  await context.close();
});
