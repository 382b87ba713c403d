// Fees and tax: an organizer types them, sees what two tickets come to, and what is wrong beside its field.

import { Member } from "../src/organizer";
import { expect, test } from "../src/test";

test("finance sets fees and sees what two tickets come to", async ({ page, baseURL }) => {
  await Member.of(page, baseURL!, "finance");
  await page.goto("/organizer");
  await page.getByRole("link", { name: "Settings" }).click();
  await expect(page).toHaveURL(/\/organizer\/settings\/fees$/);
  const fresh = page.getByTestId("fees-new");
  const currency = fresh.getByTestId("fees-currency");
  if (!(await currency.isVisible())) await fresh.locator("summary").click();

  await test.step("the example follows what is typed", async () => {
    const example = fresh.getByTestId("fees-example");
    // Until the page's script runs, nothing follows.
    await expect(async () => {
      await currency.selectOption("NOK");
      await expect(example.getByTestId("total")).toHaveText("NOK\u00a0100.00", { timeout: 1_000 });
    }).toPass();
    await fresh.getByTestId("service_rate").fill("10");
    await fresh.getByTestId("order_fixed").fill("5,50");
    await fresh.getByTestId("ticket_tax").fill("12");
    await expect(example.getByTestId("total")).toHaveText("NOK\u00a0115.50");
    await expect(example.getByTestId("tax-contained")).toContainText("NOK\u00a010.72");
    await fresh.getByTestId("ticket_mode").selectOption("added");
    await expect(example.getByTestId("total")).toHaveText("NOK\u00a0127.50");
  });

  await test.step("what can't be read is told beside its field", async () => {
    await fresh.getByTestId("service_fixed").fill("1.005");
    await expect(fresh.getByTestId("wrong-service_fixed")).toContainText("no more digits than the currency has");
    await expect(fresh.getByTestId("service_fixed")).toHaveAttribute("aria-invalid", "true");
    await fresh.getByTestId("save-fees").click();
    await expect(page.getByTestId("refusal")).toContainText("Service fee for each ticket");
    await fresh.getByTestId("service_fixed").fill("1");
    await expect(fresh.getByTestId("wrong-service_fixed")).toBeHidden();
  });

  await test.step("saved, it is a card of its own", async () => {
    await fresh.getByTestId("save-fees").click();
    await expect(page.getByTestId("saved")).toContainText("NOK");
    const card = page.getByTestId("fees").and(page.locator('[data-currency="NOK"]'));
    await expect(card.getByTestId("service_fixed")).toHaveValue("1.00");
    await expect(card.getByTestId("ticket_mode")).toHaveValue("added");
    await expect(card.getByTestId("fees-example").getByTestId("total")).toHaveText("NOK\u00a0129.50");
    await expect(fresh.getByTestId("fees-currency").locator('option[value="NOK"]')).toHaveCount(0);
  });
});
