// A bank calls a payment into question: finance sees it, with the tickets frozen, and decides about seats.

import { Member } from "../src/organizer";
import { buySeats, disputePayment } from "../src/refunds";
import { expect, test } from "../src/test";

test("finance sees a disputed payment and decides what becomes of its seats", async ({ page, fan, baseURL }) => {
  test.setTimeout(120_000);
  const { id } = await fan.quietPerformance();
  await fan.enter(id);
  const paid = await buySeats(fan, id, 1);
  await disputePayment(fan, paid);

  await test.step("finance reads what is disputed", async () => {
    await Member.of(page, baseURL!, "finance");
    const order = page.locator(`a[href="/organizer/orders/${paid.order}"]`);
    const row = page.getByTestId("dispute").filter({ has: order });
    await expect(async () => {
      await page.goto("/organizer/money/disputes");
      await expect(row).toHaveAttribute("data-tickets", "frozen", { timeout: 1_000 });
    }).toPass({ timeout: 30_000 });
    await expect(page.getByTestId("open-disputes")).toBeVisible();
    await expect(page.getByTestId("aside")).toBeVisible();
  });

  await test.step("and sets what becomes of seats", async () => {
    const policy = page.getByTestId("seat-policy");
    for (const word of ["sell", "keep"]) {
      await page.getByTestId(word).check();
      await page.getByTestId("hours").fill("48");
      await page.getByTestId("policy-form").getByRole("button").click();
      await expect(policy).toHaveAttribute("data-policy", word);
      await expect(page.getByTestId("refusal")).toHaveCount(0);
    }
  });
});
