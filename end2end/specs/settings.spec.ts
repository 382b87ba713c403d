// Settings of an owner: the provider in use, and a system that is told of events, with its secret seen once.

import { Member, signIn, tabs } from "../src/organizer";
import { expect, test } from "../src/test";

test("an owner adds an address, sees its secret once, and removes it", async ({ page }) => {
  await signIn(page, "organizer");
  await page.goto("/organizer/settings");
  await expect(tabs(page).filter({ hasText: "Settings" })).toHaveAttribute("aria-current", "page");
  const url = `https://hooks.example.org/${Date.now()}`;
  const row = page.locator(`[data-testid="endpoint"][data-url="${url}"]`);

  await test.step("the provider in use is shown", async () => {
    const current = page.getByTestId("provider").and(page.locator('[data-current="true"]'));
    await expect(current).toHaveAttribute("data-name", "sandbox");
    await expect(current).toContainText("In use");
    await expect(page.getByTestId("provider-missing")).toHaveCount(0);
  });

  await test.step("an address inside is refused, and says why", async () => {
    const form = page.getByTestId("add-form");
    if (!(await form.isVisible())) await page.getByTestId("add").locator("summary").click();
    await form.getByTestId("url").fill("https://10.0.0.1/hook");
    await form.getByTestId("add-now").click();
    await expect(page.getByTestId("refusal")).toContainText("10.0.0.1 is not a public address");
  });

  await test.step("the secret of a new one is shown", async () => {
    const form = page.getByTestId("add-form");
    if (!(await form.isVisible())) await page.getByTestId("add").locator("summary").click();
    await form.getByTestId("url").fill(url);
    await form.locator('input[value="order.closed"]').uncheck();
    await form.getByTestId("add-now").click();
    await expect(page.getByTestId("secret")).toHaveText(/^whsec_[A-Za-z0-9+/]{43}=$/);
    await expect(row).toContainText("Order paid");
    await expect(row).not.toContainText("Order ended");
    expect(page.url()).not.toContain("whsec");
  });

  await test.step("and not a second time", async () => {
    await page.reload();
    await expect(row).toBeVisible();
    await expect(page.getByTestId("secret")).toHaveCount(0);
  });

  await test.step("another secret, and the end", async () => {
    await row.click();
    await expect(page.getByTestId("endpoint-url")).toHaveText(url);
    await expect(page.getByTestId("endpoint-state")).toHaveAttribute("data-state", "works");
    await expect(page.getByTestId("no-deliveries")).toBeVisible();
    await page.getByTestId("rotate").locator("summary").click();
    await page.getByTestId("rotate-now").click();
    await expect(page.getByTestId("secret")).toHaveText(/^whsec_/);
    await page.getByTestId("remove").locator("summary").click();
    await page.getByTestId("remove-now").click();
    await page.waitForURL("**/organizer/settings?removed=1");
    await expect(page.getByTestId("removed")).toBeVisible();
    await expect(row).toHaveCount(0);
  });
});

test("an operator finds no settings", async ({ page, baseURL }) => {
  await Member.of(page, baseURL!, "operator");
  const response = await page.goto("/organizer/settings");
  expect(response!.status()).toBe(403);
  await expect(page.getByTestId("barred")).toContainText("Owner");
});
