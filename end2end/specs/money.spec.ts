// Money: what the books say, as figures and as a table to keep, and the days of the match.

import { readFileSync } from "node:fs";
import { signIn, tabs } from "../src/organizer";
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

test("on a phone no page of money is wider than the screen, by day and by night", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await signIn(page, "finance");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const path of ["/organizer/money", "/organizer/money/reconciliation"]) {
      await page.goto(path);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(beyond, path).toBeLessThanOrEqual(0);
    }
  }
});

test("risk has no part of it", async ({ page }) => {
  await signIn(page, "risk");
  for (const path of ["/organizer/money", "/organizer/money/reconciliation"]) {
    const response = await page.goto(path);
    expect(response!.status(), path).toBe(403);
    await expect(page.getByTestId("barred")).toBeVisible();
  }
});
