// Settings without JavaScript: a plain form adds an address, and the page that follows shows its secret once.

import { Member, signIn } from "../src/organizer";
import { expect, test } from "../src/test";

interface Details {
  details: { address: string; tax_id: string; prefix: string };
  version: number;
}

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

test("details that somebody else changed meanwhile are not lost", async ({ page, baseURL }) => {
  const member = await Member.of(page, baseURL!, "organizer");
  await page.goto("/organizer/settings/details");
  const address = page.getByTestId("details-form").locator('[name="address"]');
  await address.fill("1 Typed Street");
  const { details, version } = await member.call<Details>("organizer-details");
  await member.call("organizer-details-set", { ...details, version });
  await page.getByTestId("details-form").getByRole("button").click();
  await expect(page.getByTestId("refusal")).toHaveAttribute("data-code", "wrong_state");
  await expect(address).toHaveValue("1 Typed Street");
  await page.goto("/organizer/settings/details");
  await expect(address).toHaveValue(details.address);
});
