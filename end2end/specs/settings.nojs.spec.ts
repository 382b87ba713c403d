// Settings without JavaScript: a plain form adds an address, and the page that follows shows its secret once.

import { signIn } from "../src/organizer";
import { expect, test } from "../src/test";

test("a secret is shown once, and in no address", async ({ page }) => {
  await signIn(page, "organizer");
  await page.goto("/organizer/settings");
  const url = `https://hooks.example.org/plain-${Date.now()}`;
  const row = page.locator(`[data-testid="endpoint"][data-url="${url}"]`);
  const form = page.getByTestId("add-form");
  if (!(await form.isVisible())) await page.getByTestId("add").locator("summary").click();
  await form.getByTestId("url").fill(url);
  await form.getByTestId("add-now").click();
  await expect(page.getByTestId("secret")).toHaveText(/^whsec_/);
  expect(page.url()).toMatch(/\/organizer\/settings$/);
  await page.goto("/organizer/settings");
  await expect(page.getByTestId("secret")).toHaveCount(0);

  await row.click();
  await page.getByTestId("rotate").locator("summary").click();
  await page.getByTestId("rotate-now").click();
  await expect(page.getByTestId("secret")).toHaveText(/^whsec_/);
  await page.getByTestId("remove").locator("summary").click();
  await page.getByTestId("remove-now").click();
  await expect(page.getByTestId("removed")).toBeVisible();
  await expect(row).toHaveCount(0);
});
