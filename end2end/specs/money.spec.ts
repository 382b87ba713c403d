// Money: what the books say, as figures and as a table to keep, and the days of the match.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { Member, signIn, tabs } from "../src/organizer";
import { buySeats } from "../src/refunds";
import { expect, test } from "../src/test";

test("finance reads the report, narrows it, keeps a table and sees the days", async ({ page }) => {
  await signIn(page, "finance");
  await page.goto("/organizer/money");
  await expect(tabs(page).filter({ hasText: "Money" })).toHaveAttribute("aria-current", "page");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Money");
  const form = page.getByTestId("money-form");
  await form.getByLabel("Period").selectOption("today");
  await form.getByRole("button").click();
  await page.waitForURL(/period=today/);
  await expect(form.getByLabel("Period")).toHaveValue("today");
  // The demo may have sold something by now, or nothing: both are told.
  await expect(page.getByTestId("empty").or(page.getByTestId("sides").first())).toBeVisible();

  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Postings (CSV)" }).click();
  const file = await download;
  expect(file.suggestedFilename()).toBe("postings-today.csv");
  expect(readFileSync(await file.path(), "utf8")).toMatch(/^at,source,account,currency,amount_minor,amount,/);

  await page.getByRole("link", { name: "Reconciliation" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Reconciliation");
  await expect(page.getByTestId("day").first()).toBeVisible();
});

test("finance notes a transfer, sees it in the report, and reverses it", async ({ page, fan, baseURL }) => {
  test.setTimeout(120_000);
  const { id } = await fan.quietPerformance();
  await fan.enter(id);
  await buySeats(fan, id, 1);
  await Member.of(page, baseURL!, "finance");
  await page.goto("/organizer/money/payouts");
  await expect(page.getByTestId("owed").first()).toBeVisible();
  const reference = `RF ${randomUUID()}`;
  const row = page.getByTestId("payout").filter({ hasText: reference });
  const form = page.getByTestId("record-form");
  const fill = async (amount: string) => {
    await form.getByLabel("Amount").fill(amount);
    await form.getByLabel("Day of the transfer").fill("2026-01-31");
    await form.getByLabel("Reference").fill(reference);
    await form.getByRole("button").click();
  };

  await test.step("not more than is owed; what was typed stays", async () => {
    await page.getByTestId("record").locator("summary").click();
    await fill("999999999");
    await expect(page.getByTestId("refusal")).toHaveAttribute("data-code", "invalid_input");
    await expect(form.getByLabel("Reference")).toHaveValue(reference);
    await expect(row).toHaveCount(0);
  });

  await test.step("a part of it is paid out", async () => {
    await fill("1");
    await expect(row).toHaveAttribute("data-state", "paid");
    await expect(page.getByTestId("refusal")).toHaveCount(0);
    await page.getByRole("link", { name: "The report" }).click();
    await expect(page.getByTestId("figure-paid-out").first()).toBeVisible();
  });

  await test.step("and reversed, with the reason", async () => {
    await page.getByRole("link", { name: "Payouts" }).click();
    await row.getByTestId("reverse").locator("summary").click();
    await row.getByLabel("Why").fill("noted twice");
    await row.getByTestId("reverse").getByRole("button").click();
    await expect(row).toHaveAttribute("data-state", "reversed");
    await expect(row.getByTestId("reason")).toHaveText("noted twice");
  });
});

test("on a phone no page of money is wider than the screen, by day and by night", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await signIn(page, "finance");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const path of ["/organizer/money", "/organizer/money/payouts", "/organizer/money/reconciliation"]) {
      await page.goto(path);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(beyond, path).toBeLessThanOrEqual(0);
    }
  }
});

test("risk has no part of it", async ({ page }) => {
  await signIn(page, "risk");
  for (const path of ["/organizer/money", "/organizer/money/payouts", "/organizer/money/reconciliation"]) {
    const response = await page.goto(path);
    expect(response!.status(), path).toBe(403);
    await expect(page.getByTestId("barred")).toBeVisible();
  }
});
