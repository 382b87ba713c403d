// No page has a fault that axe-core finds, in either theme; the purchase works by keyboard alone.

import type { Page } from "@playwright/test";
import { faults } from "../src/axe";
import { Member } from "../src/organizer";
import { chooseTwoSeats, holdSeats, openMapAt } from "../src/pages";
import { expect, test } from "../src/test";
import { fanStops, organizerStops, publicStops, type Stop } from "../src/tour";

async function visit(page: Page, stops: Stop[]): Promise<void> {
  await page.emulateMedia({ reducedMotion: "reduce" });
  for (const stop of stops) {
    await test.step(stop.name, async () => {
      await page.goto(stop.path);
      await stop.ready?.(page);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        expect.soft(await faults(page), `${stop.name}, ${colorScheme}`).toEqual([]);
      }
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect.soft(overflow, `${stop.name} scrolls sideways`).toBeLessThanOrEqual(0);
    });
  }
}

test("public pages", async ({ page, another }) => {
  test.setTimeout(180_000);
  await visit(page, await publicStops(await another()));
});

test("pages of a fan", async ({ page, fan, another }) => {
  test.setTimeout(300_000);
  await visit(page, await fanStops(fan, await another()));
});

test("pages of an organizer", async ({ page, baseURL, another }) => {
  test.setTimeout(420_000);
  await visit(page, await organizerStops(await Member.of(page, baseURL!, "organizer"), await another()));
});

test("two seats are held by keyboard alone, and each is read out", async ({ page, fan }) => {
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  const { seats } = await fan.freeSeats(id, 3);
  const canvas = await openMapAt(page, id, seats[1]!.seat);
  await canvas.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowLeft");
  await expect(page.getByTestId("announcement")).toContainText(/seat .+, .*\d/i);
  await chooseTwoSeats(page, canvas);
  await page.getByTestId("hold").focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/orders\/[0-9a-f-]+$/);
  await page.getByTestId("pay").focus();
  await expect(page.getByTestId("pay")).toBeFocused();
});

test("the first stop of the Tab key leads to the content", async ({ page }) => {
  await page.goto("/");
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to the content" });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
});

test("a chosen seat can be held by mouse, too", async ({ page, fan }) => {
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  const { seats } = await fan.freeSeats(id, 3);
  await chooseTwoSeats(page, await openMapAt(page, id, seats[1]!.seat));
  await holdSeats(page);
});
