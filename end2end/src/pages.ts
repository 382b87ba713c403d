// What a person does on each page, by roles and test ids. No spec reaches into markup by itself.

import { expect, type Locator, type Page } from "@playwright/test";
import { CARD } from "./fan";

/** The canvas once it shows the house with its live state. */
export async function readyMap(page: Page): Promise<Locator> {
  const canvas = page.locator("canvas[data-ready='true']");
  await expect(canvas).toBeVisible({ timeout: 20_000 });
  return canvas;
}

/** Opens the map at a seat. */
export async function openMapAt(page: Page, performance: string, seat: number): Promise<Locator> {
  await page.goto(`/performances/${performance}/seats?focus=${seat}`);
  return readyMap(page);
}

/** Chooses the focused seat, then one neighbour, by keyboard; returns what is in the basket. */
export async function chooseTwoSeats(page: Page, canvas: Locator): Promise<number[]> {
  const chosen = page.getByTestId("basket-seat");
  await canvas.focus();
  await page.keyboard.press("Enter");
  await expect(chosen).toHaveCount(1);
  // The neighbour may be to either side, whichever way the house is drawn.
  for (const key of ["ArrowRight", "ArrowLeft", "ArrowLeft"]) {
    await page.keyboard.press(key);
    const before = await chosen.count();
    await page.keyboard.press("Enter");
    await expect.poll(() => chosen.count()).not.toBe(before);
    if ((await chosen.count()) >= 2) break;
    // That was the first seat again, which is now unchosen: take it back.
    await page.keyboard.press("Enter");
    await expect(chosen).toHaveCount(1);
  }
  await expect(chosen).toHaveCount(2);
  const numbers = await chosen.evaluateAll((items) => items.map((item) => Number(item.getAttribute("data-seat"))));
  return numbers.sort((a, b) => a - b);
}

/** Presses the one next step of the map and lands on the order. */
export async function holdSeats(page: Page): Promise<void> {
  await page.getByTestId("hold").click();
  await page.waitForURL(/\/orders\/[0-9a-f-]+$/);
}

/** From the order to the provider's page. */
export async function goToProvider(page: Page): Promise<void> {
  await page.getByTestId("pay").click();
  await page.waitForURL(/\/pay\//);
}

/** Fills the provider's form. */
export async function payWith(page: Page, card: keyof typeof CARD): Promise<void> {
  await page.getByLabel("Card number").fill(CARD[card]);
  await page.getByLabel("Expiry").fill("12 / 34");
  await page.getByLabel("Security code").fill("123");
  await page.getByRole("button", { name: /^Pay / }).click();
}

/** The tickets of a paid order. */
export async function expectTickets(page: Page, count: number): Promise<void> {
  const tickets = page.getByTestId("ticket");
  await expect(tickets).toHaveCount(count, { timeout: 30_000 });
  for (const ticket of await tickets.all()) {
    await expect(ticket).toBeVisible();
    await expect(ticket.getByTestId("qr")).toBeVisible();
  }
}
