// What waiting pages show, and what organizers and clocks do to them.

import { expect, type Browser, type Page } from "@playwright/test";
import type { Fan } from "./fan";
import { Member } from "./organizer";

/** The part of the waiting room that is shown. */
export const stage = (page: Page) => page.getByTestId("queue");

/** Opens the waiting room and waits until the page has taken a place by itself. */
export async function waitInLobby(page: Page, performance: string): Promise<void> {
  await page.goto(`/performances/${performance}/queue`);
  await expect(stage(page)).toHaveAttribute("data-stage", "lobby");
}

/** Opens the sale and lets entry rest at once, so that everybody is drawn and nobody goes in. What is done
 * already stays done. */
export async function openWithEntryAtRest(browser: Browser, fan: Fan, performance: string): Promise<void> {
  const context = await browser.newContext();
  const member = await Member.of(await context.newPage(), fan.url, "organizer");
  await member.ask("organizer-sale-open", { performance });
  await member.ask("organizer-sale-pause", { performance });
  await expect.poll(async () => (await fan.queueStatus(performance)).phase).toBe("paused");
  // The lobby is frozen, listed and drawn by now, or will be in a moment.
  await expect.poll(async () => (await fan.queueStatus(performance)).drawn !== null, { timeout: 30_000 }).toBe(true);
  await context.close();
}

/** Lets entry go on. */
export async function resume(browser: Browser, fan: Fan, performance: string): Promise<void> {
  const context = await browser.newContext();
  const member = await Member.of(await context.newPage(), fan.url, "organizer");
  await member.call("organizer-sale-resume", { performance });
  await context.close();
}

/** Sets the device's clock off by so much, before any script of the page runs. */
export async function shiftClock(page: Page, by_ms: number): Promise<void> {
  await page.addInitScript((shift) => {
    const True = Date;
    const now = () => True.now() + shift;
    const Shifted = function (this: unknown, ...parts: unknown[]) {
      const made = parts.length === 0 ? new True(now()) : new (True as unknown as new (...parts: unknown[]) => Date)(...parts);
      return new.target ? made : made.toString();
    };
    Object.setPrototypeOf(Shifted, True);
    Shifted.prototype = True.prototype;
    Object.assign(Shifted, { now });
    Object.assign(window, { Date: Shifted });
  }, by_ms);
}

/** How far the countdown of a page is from the truth, in seconds. This machine's clock is the server's. */
export async function countdownError(page: Page, opens_at: number): Promise<number> {
  const parts = await page.getByTestId("countdown").locator("b").allTextContents();
  const [days, hours, minutes, seconds] = parts.map(Number) as [number, number, number, number];
  const shown = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
  return Math.abs(shown - Math.ceil((opens_at - Date.now()) / 1_000));
}

/** A stand-in for the browser's notifications that counts what it is asked for: test browsers refuse the
 * real ones. */
export async function countNotifications(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const counted = { asked: 0, shown: [] as string[] };
    let permission = "default";
    class Counted {
      static get permission() {
        return permission;
      }
      static requestPermission() {
        counted.asked += 1;
        permission = "granted";
        return Promise.resolve(permission);
      }
      constructor(title: string) {
        counted.shown.push(title);
      }
    }
    Object.assign(window, { Notification: Counted, counted });
  });
}

/** What was counted. */
export async function notifications(page: Page): Promise<{ asked: number; shown: string[] }> {
  return page.evaluate(() => (window as unknown as { counted: { asked: number; shown: string[] } }).counted);
}
