// Holds end by themselves. A server of its own, whose demo has holds of a few seconds.

import { Fan } from "../src/fan";
import { Server } from "../src/server";
import { expect, test } from "../src/test";

const HOLD_TTL_MS = 6_000;
/** A seat is back on every map within this time after its hold was due. */
const BACK_MS = 5_000;

let server: Server;
test.beforeAll(async () => {
  test.setTimeout(120_000);
  server = await Server.start("short-holds", { STARARENA_DEMO_HOLD_TTL_MS: String(HOLD_TTL_MS) });
});
test.afterAll(async () => {
  await server?.stop();
});

test("an unpaid hold ends: its fan is told, the seats are back on another's map", async ({ page, browser }) => {
  test.setTimeout(90_000);
  const buyer = new Fan(page, server.url);
  const context = await browser.newContext();
  const watcher = new Fan(await context.newPage(), server.url);
  await buyer.join();
  await watcher.join();
  const { id } = await buyer.openPerformance();
  await buyer.enter(id);
  await watcher.enter(id);

  const seat = (await buyer.freeSeats(id, 1)).seats[0]!.seat;
  await watcher.page.goto(`${server.url}/performances/${id}/seats?focus=${seat}`);
  const canvas = watcher.page.locator("canvas[data-ready='true']");
  await expect(canvas).toBeVisible({ timeout: 20_000 });

  const held = await buyer.hold(id, [seat]);
  await expect(canvas).toHaveAttribute("data-last-change", new RegExp(`^${seat}:held`, "i"));
  await page.goto(`${server.url}/orders/${held.order}`);
  await expect(canvas).toHaveAttribute("data-last-change", new RegExp(`^${seat}:(available|free)`, "i"), {
    timeout: HOLD_TTL_MS + BACK_MS,
  });

  // The buyer's page says so without a reload, and offers the way back.
  await expect(page.getByTestId("closed")).toBeVisible({ timeout: BACK_MS });
  await expect(page.getByTestId("pay")).toHaveCount(0);
  await expect(page.getByTestId("hold-again")).toHaveAttribute("href", `/performances/${id}/seats`);

  // And the seat is really free: another fan can have it.
  const again = await watcher.hold(id, [seat]);
  expect(again.seats).toEqual([seat]);
  await context.close();
});

test("an expired seat can be held by another at the first try", async ({ page, browser }) => {
  const first = new Fan(page, server.url);
  const context = await browser.newContext();
  const second = new Fan(await context.newPage(), server.url);
  await first.join();
  await second.join();
  const { id } = await first.openPerformance();
  await first.enter(id);
  await second.enter(id);
  const seat = (await first.freeSeats(id, 1)).seats[0]!.seat;
  const held = await first.hold(id, [seat]);
  // By the server's clock, not by this machine's patience.
  await expect.poll(() => serverNow(second), { timeout: HOLD_TTL_MS + BACK_MS }).toBeGreaterThan(held.expires);
  expect((await second.hold(id, [seat])).seats).toEqual([seat]);
  await context.close();
});

async function serverNow(fan: Fan): Promise<number> {
  const response = await fan.page.context().request.get(`${server.url}/api/server-time`);
  return ((await response.json()) as { now: number }).now;
}
