// The receipt of a paid order: its number, what it says, how it prints, and on a phone.

import { expectTickets, goToProvider, payWith } from "../src/pages";
import { expect, test } from "../src/test";

test("a paid order has a receipt with its number, which prints without the page around it", async ({ page, fan }) => {
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  const { seats } = await fan.freeSeats(id, 2);
  const { order } = await fan.hold(id, seats.map(({ seat }) => seat));
  await page.goto(`/orders/${order}`);
  await expect(page.getByTestId("to-receipt")).toHaveCount(0);
  await goToProvider(page);
  await payWith(page, "pays");
  await page.waitForURL(/\/orders\/[0-9a-f-]+/);
  await expectTickets(page, 2);
  await page.getByTestId("to-receipt").click();
  await page.waitForURL(`**/orders/${order}/receipt`);

  // The number comes a moment after the payment.
  await expect(async () => {
    await page.reload();
    await expect(page.getByTestId("receipt-number")).toHaveText(/^SA-\d{4}-\d{6}$/, { timeout: 1_000 });
  }).toPass({ timeout: 20_000 });
  await expect(page.getByTestId("buyer")).toHaveText(fan.email);
  await expect(page.getByTestId("seller")).not.toBeEmpty();
  await expect(page.getByTestId("receipt-line").first()).toBeVisible();
  await expect(page.getByTestId("receipt-total")).not.toBeEmpty();

  await page.emulateMedia({ media: "print" });
  await expect(page.getByTestId("receipt-total")).toBeVisible();
  await expect(page.getByRole("link", { name: "Back to the order" })).toBeHidden();
  await page.emulateMedia({ media: "screen" });

  await page.setViewportSize({ width: 390, height: 844 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wide, "nothing is wider than a phone").toBeLessThanOrEqual(0);
});
