// "Pick for me" without JavaScript: a form on the page of the list.

import { expect, test } from "../src/test";

test("two seats are picked from the list's page and held", async ({ fan, page }) => {
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  await page.goto(`/performances/${id}/list`);
  await page.getByTestId("pick-how-many").selectOption("2");
  await page.getByTestId("pick").click();
  await page.waitForURL(/\/orders\/[0-9a-f-]+/);
  await expect(page.getByTestId("pay")).toBeVisible();
});

test("without a pass the refusal leads to the queue", async ({ fan, page }) => {
  const { id } = await fan.openPerformance();
  await page.goto(`/performances/${id}/list`);
  await page.getByTestId("pick").click();
  await expect(page.getByTestId("refusal")).toHaveAttribute("data-code", "pass_required");
});
