// Tickets without JavaScript: what was typed into a refused form stands in it again, beside the reason.

import { buySeats } from "../src/refunds";
import { expect, test } from "../src/test";

test("an address that a ticket can't go to is refused and stays in its field, once", async ({ fan, page }) => {
  test.setTimeout(90_000);
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  const { order } = await buySeats(fan, id, 1);
  const form = page.getByTestId("manage").getByTestId("offer");
  const email = form.locator('input[name="email"]');
  for (const path of [`/orders/${order}`, "/tickets"]) {
    await page.goto(path);
    await expect(email).toHaveValue("");
    await page.getByTestId("manage").locator("summary").click();
    await email.fill(fan.email);
    await form.getByRole("button").click();
    await expect(page.getByTestId("refusal")).toHaveAttribute("data-code", "invalid_input");
    await expect(email).toBeVisible();
    await expect(email).toHaveValue(fan.email);
  }
});
