// Tickets go back: an organizer says what comes back, a fan gives one of two back, finance agrees, and
// the seat is free again.

import type { Page } from "@playwright/test";
import { faults } from "../src/axe";
import { Member } from "../src/organizer";
import { buySeats, isFree } from "../src/refunds";
import { expect, test } from "../src/test";

async function setTerms(page: Page, performance: string): Promise<void> {
  await page.goto(`/organizer/performances/${performance}`);
  await page.getByTestId("to-terms").click();
  await page.waitForURL(`**/organizer/performances/${performance}/refunds`);
  const rows = page.getByTestId("tier");
  // Terms of an earlier round are taken away first.
  for (let left = await rows.count(); left > 0; left -= 1) {
    await rows.first().getByTestId("remove-tier").click();
    await expect(rows).toHaveCount(left - 1);
  }
  await page.getByTestId("add-tier").click();
  await expect(rows).toHaveCount(1);
  await page.getByTestId("form[allowed]").check();
  await page.getByTestId("form[ends]").fill("1");
  await page.getByTestId("unit").selectOption("hours");
  await page.getByTestId("form[resells]").check();
  // What can't be read is said at once, and not saved.
  await rows.getByTestId("form[days][]").fill("soon");
  await expect(page.getByTestId("preview-error")).toContainText("days[0]");
  await page.getByTestId("save-terms").click();
  await expect(page.getByTestId("refusal-detail")).toContainText("days[0]");
  await rows.getByTestId("form[days][]").fill("0");
  await rows.getByTestId("form[kept][]").fill("10");
  await expect(page.getByTestId("preview")).toContainText("10% of the ticket price is kept");
  expect(await faults(page)).toEqual([]);
  await page.getByTestId("save-terms").click();
  await expect(page.getByTestId("saved")).toBeVisible();
}

test("a fan gives one of two tickets back, finance agrees, and the seat is free again", async ({
  fan,
  page,
  browser,
  baseURL,
}) => {
  test.setTimeout(180_000);
  const { id } = await fan.quietPerformance();
  const context = await browser.newContext({ locale: "en-GB" });
  const staff = await context.newPage();
  await Member.of(staff, baseURL!, "finance");
  await fan.enter(id);
  const { order, section, seats } = await buySeats(fan, id, 2);
  const seat = seats[0]!;
  const box = page.locator(`input[data-testid="refund-seat"][value="${seat}"]`);
  const refund = page.getByTestId("refund");
  let amount = "";

  await test.step("finance sets what comes back", () => setTerms(staff, id));

  await test.step("somebody who saw older terms does not overwrite them", async () => {
    await staff.goto(`/organizer/performances/${id}/refunds`);
    const member = new Member(staff, baseURL!, "finance");
    const { version } = await member.call<{ version: number }>("organizer-terms", { id });
    const old = await member.ask("organizer-terms-save", { id, version: version - 1, "form[ends]": "1", "form[unit]": "days" });
    expect(old).toMatchObject({ status: 409, body: { code: "wrong_state" } });
  });

  await test.step("the fan chooses by keyboard and sees what comes back", async () => {
    await page.goto(`/orders/${order}`);
    await page.getByTestId("give-tickets-back").click();
    await page.waitForURL(`**/orders/${order}/refund`);
    await expect(page.getByTestId("policy")).toContainText("10% of the ticket price is kept");
    await box.focus();
    await page.keyboard.press("Space");
    await expect(box).toBeChecked();
    await expect(page.getByTestId("quote-returns")).toBeVisible();
    amount = await page.getByTestId("quote-returns").innerText();
    await expect(page.getByTestId("refund-ask")).toContainText(amount);
    await expect(page.getByTestId("quote-agrees")).toContainText("has to agree");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      expect(await faults(page), colorScheme).toEqual([]);
    }
  });

  await test.step("another amount than the one that was shown is refused", async () => {
    const { status, body } = await fan.ask("order-refund-ask", { order, seats: String(seat), expected_minor: 1 });
    expect({ status, body }).toMatchObject({ status: 409, body: { code: "wrong_state" } });
  });

  await test.step("the fan asks", async () => {
    await page.getByTestId("refund-ask").focus();
    await page.keyboard.press("Enter");
    await expect(page.getByTestId("asked")).toBeVisible();
    await expect(refund).toHaveAttribute("data-status", "requested");
    await expect(refund).toContainText(amount);
    await expect(box).toBeDisabled();
  });

  await test.step("finance agrees, in two steps that name the amount", async () => {
    await staff.goto("/organizer/money/refunds?status=requested");
    await expect(staff.getByTestId("waiting")).not.toHaveText(/^0/);
    const row = staff.locator(`[data-testid="refund"][data-order="${order}"]`);
    await expect(row).toContainText(fan.email);
    const approve = row.getByTestId("approve");
    await approve.locator("summary").click();
    await expect(approve.getByTestId("decide-now")).toContainText(amount);
    expect(await faults(staff)).toEqual([]);
    await approve.getByTestId("decide-now").click();
    await expect(row).toHaveCount(0);
  });

  await test.step("the fan's pages say so", async () => {
    await expect(async () => {
      await page.reload();
      await expect(refund).toHaveAttribute("data-status", "succeeded", { timeout: 1_000 });
    }).toPass({ timeout: 45_000 });
    await page.getByTestId("to-order").click();
    await expect(page.getByTestId("refund-brief")).toHaveAttribute("data-status", "succeeded");
    await expect(page.getByTestId("given-back")).toHaveCount(1);
  });

  await test.step("the seat is free, its neighbour is not", async () => {
    await expect.poll(() => isFree(fan, id, section, seat), { timeout: 20_000 }).toBe(true);
    expect(await isFree(fan, id, section, seats[1]!)).toBe(false);
  });

  await test.step("the rest goes back by goodwill, with a reason", async () => {
    await staff.goto(`/organizer/orders/${order}`);
    await staff.getByTestId("to-refund").click();
    await staff.waitForURL(`**/organizer/orders/${order}/refund`);
    await staff.locator(`input[data-testid="refund-seat"][value="${seats[1]}"]`).check();
    await expect(staff.getByTestId("quote-returns")).not.toBeEmpty();
    await staff.getByTestId("note").fill("The view was blocked.");
    await staff.getByTestId("refund-ask").click();
    await expect(staff.getByTestId("asked")).toBeVisible();
    await expect(staff.getByTestId("refund").first()).toContainText("The view was blocked.");
  });
  await context.close();
});
