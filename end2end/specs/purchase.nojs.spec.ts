// Everything that sells works without JavaScript: forms, links and pages that refresh themselves.

import { Fan, PASSWORD } from "../src/fan";
import { expectTickets, payWith } from "../src/pages";
import { expect, test } from "../src/test";

test("a fan buys two seats without JavaScript", async ({ page, baseURL }) => {
  test.setTimeout(120_000);
  const fan = new Fan(page, baseURL!);
  const { slug, id } = await fan.openPerformance();

  await test.step("sign up and confirm", async () => {
    await page.goto(`/sign-up?next=/events/${slug}`);
    await page.getByLabel("E-mail").fill(fan.email);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("main").getByRole("button", { name: /account|sign up/i }).click();
    await page.waitForURL(`**/events/${slug}`);
    await expect(page.getByTestId("who")).toHaveText(fan.email);
    const token = await fan.confirmationToken();
    await page.goto(`/confirm?token=${encodeURIComponent(token)}`);
    await page.getByTestId("confirm").click();
    await page.goto(`/events/${slug}`);
    await expect(page.getByTestId("confirm-hint")).toHaveCount(0);
  });

  await test.step("through the queue", async () => {
    await page.locator(`[data-performance="${id}"]`).getByTestId("to-queue").click();
    await page.waitForURL(`**/performances/${id}/queue**`);
    const join = page.getByTestId("join");
    if (await join.isVisible()) await join.click();
    await expect(async () => {
      if (!page.url().includes("/queue")) return;
      if (!(await page.getByTestId("enter").isVisible())) await page.goto(`/performances/${id}/queue`);
      await page.getByTestId("enter").click({ timeout: 2_000 });
      await page.waitForURL(`**/performances/${id}/list**`, { timeout: 2_000 });
    }).toPass({ timeout: 45_000, intervals: [500, 1_000] });
  });

  await test.step("choose from the list", async () => {
    const { section, seats } = await fan.freeSeats(id, 2);
    await page.locator(`a[data-section="${section}"]`).click();
    await expect(page.getByTestId("hold-form")).toBeVisible();
    for (const { seat } of seats) await page.locator(`input[data-testid="seat"][value="${seat}"]`).check();
    await page.getByTestId("hold").click();
    await page.waitForURL(/\/orders\/[0-9a-f-]+/);
  });

  await test.step("pay, and see the tickets", async () => {
    await page.getByTestId("pay").click();
    await page.waitForURL(/\/pay\//);
    await payWith(page, "pays");
    await page.waitForURL(/\/orders\/[0-9a-f-]+/);
    // The page refreshes itself while the payment is under way.
    await expectTickets(page, 2);
  });
});

test("a refused form comes back with the reason on its page", async ({ page }) => {
  await page.goto("/sign-in");
  await page.getByLabel("E-mail").fill("nobody@example.org");
  await page.getByLabel("Password").fill("not the right one");
  await page.getByRole("main").getByRole("button", { name: /sign in/i }).click();
  await expect(page.getByTestId("refusal")).toHaveAttribute("data-code", "wrong_credentials");
  await expect(page.getByLabel("E-mail")).toBeVisible();
});

test("seats without a pass are refused with the way to the queue", async ({ fan, page }) => {
  const { id } = await fan.openPerformance();
  const { section, seats } = await fan.freeSeats(id, 1);
  await page.goto(`/performances/${id}/list?section=${section}`);
  await page.locator(`input[data-testid="seat"][value="${seats[0]!.seat}"]`).check();
  await page.getByTestId("hold").click();
  await expect(page.getByTestId("refusal")).toHaveAttribute("data-code", "pass_required");
});

test("the language is switched by a form and stays", async ({ page }) => {
  await page.goto("/");
  await expect(page.locator("html")).toHaveAttribute("lang", /^en/);
  await page.getByTestId("language").click();
  await expect(page.locator("html")).toHaveAttribute("lang", /^zh/);
  await page.goto("/sign-in");
  await expect(page.locator("html")).toHaveAttribute("lang", /^zh/);
});
