// Fees and tax without JavaScript: plain forms, refusals with the field's name, the example after saving.

import { signIn } from "../src/organizer";
import { expect, test } from "../src/test";

test("an owner sets fees by a form", async ({ page }) => {
  await signIn(page, "organizer");
  const open = async () => {
    const fresh = page.getByTestId("fees-new");
    if (!(await fresh.getByTestId("fees-currency").isVisible())) await fresh.locator("summary").click();
    return fresh;
  };
  await page.goto("/organizer/settings/fees");
  let fresh = await open();
  await fresh.getByTestId("fees-currency").selectOption("ISK");
  await fresh.getByTestId("order_fixed").fill("2.5");
  await fresh.getByTestId("save-fees").click();
  await expect(page.getByTestId("refusal")).toContainText("Fee for each order");

  // What was typed is there still.
  fresh = await open();
  await expect(fresh.getByTestId("fees-currency")).toHaveValue("ISK");
  await expect(fresh.getByTestId("order_fixed")).toHaveValue("2.5");
  await fresh.getByTestId("order_fixed").fill("250");
  await fresh.getByTestId("save-fees").click();
  await expect(page.getByTestId("saved")).toContainText("ISK");
  const card = page.getByTestId("fees").and(page.locator('[data-currency="ISK"]'));
  await expect(card.getByTestId("fees-example").getByTestId("total")).toHaveText("ISK\u00a010,250");
});
