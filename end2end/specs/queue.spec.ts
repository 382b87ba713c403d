// The waiting room, from the lobby to the turn. A server of its own: its one lobby is opened on the way.

import { Fan, PASSWORD } from "../src/fan";
import { Server } from "../src/server";
import { expect, test as base } from "../src/test";
import {
  countNotifications,
  countdownError,
  notifications,
  openWithEntryAtRest,
  resume,
  shiftClock,
  stage,
  waitInLobby,
} from "../src/waiting";

/** The demo's event that is not on sale yet; the specs before the last ones leave it so. */
const LOBBY = "tide-and-stone";
const HOUR_MS = 3_600_000;
/**
 * All scripts of a fresh waiting page together, as they come over the wire (docs/adr/0029): a sixth of the whole
 * interface's.
 */
const SCRIPTS_MAX_BYTES = 250_000;

let server: Server | undefined;
const test = base.extend({ baseURL: async ({}, use) => use(server?.url ?? "") });
test.beforeAll(async () => {
  base.setTimeout(120_000);
  server = await Server.start("queue");
});
test.afterAll(async () => {
  await server?.stop();
});

test("a place is taken once, and is the same after a reload and on another device", async ({ page, fan, browser }) => {
  const { id } = await fan.lobbyPerformance();
  await waitInLobby(page, id);
  await expect(page.getByTestId("countdown")).toBeVisible();
  await expect(page.getByRole("paragraph").filter({ hasText: "You're in." })).toBeVisible();
  await expect(page.getByTestId("steps").locator("[aria-current='step']")).toContainText("The draw");
  await expect(page).toHaveTitle(/^Waiting room · /);
  const number = await page.getByTestId("number").textContent();
  expect(Number(number?.replaceAll(",", ""))).toBe((await fan.takePlace(id)) + 1);

  await page.reload();
  await expect(page.getByTestId("number")).toHaveText(number!);

  await test.step("another device of the account", async () => {
    const context = await browser.newContext({ locale: "en-GB", baseURL: fan.url });
    const device = await context.newPage();
    await new Fan(device, fan.url).call("sign-in", { email: fan.email, password: PASSWORD });
    await waitInLobby(device, id);
    await expect(device.getByTestId("number")).toHaveText(number!);
    await context.close();
  });
});

for (const hours of [2, -2]) {
  test(`a device whose clock is ${hours} hours off counts down to the right second`, async ({ page, fan }) => {
    const { id } = await fan.lobbyPerformance();
    const { opens_at } = await fan.queueStatus(id);
    await shiftClock(page, hours * HOUR_MS);
    await waitInLobby(page, id);
    expect(Math.abs((await page.evaluate(() => Date.now())) - Date.now())).toBeGreaterThan(HOUR_MS);
    // From the first answer on, and a while later still.
    await expect.poll(() => countdownError(page, opens_at)).toBeLessThanOrEqual(1);
    await page.waitForTimeout(2_500);
    expect(await countdownError(page, opens_at)).toBeLessThanOrEqual(1);
  });
}

test("without an answer the page says what is wrong and what is safe, and recovers by itself", async ({ page, fan }) => {
  const { id } = await fan.lobbyPerformance();
  await waitInLobby(page, id);
  const number = await page.getByTestId("number").textContent();
  const offline = page.getByTestId("offline");

  await test.step("StarArena is silent", async () => {
    await page.route("**/queue/status", (route) => route.abort());
    await expect(offline).toContainText("StarArena doesn't answer");
    await expect(page.getByText("Your place is kept.", { exact: false }).first()).toBeVisible();
    await expect(page.getByTestId("number")).toHaveText(number!);
    // Said once, for those who don't see it.
    await expect(page.getByTestId("voice")).toContainText("StarArena doesn't answer");
    await page.unroute("**/queue/status");
    await expect(offline).toHaveCount(0, { timeout: 40_000 });
    await expect(page.getByTestId("voice")).toHaveText("StarArena answers again.");
  });

  await test.step("the device has no network", async () => {
    await page.context().setOffline(true);
    await expect(offline).toContainText("Your device has no network");
    await page.context().setOffline(false);
    await expect(offline).toHaveCount(0, { timeout: 5_000 });
  });
});

test("a busy server is left alone for as long as it wants, then the place is taken", async ({ page, fan }) => {
  const { id } = await fan.lobbyPerformance();
  const asked: number[] = [];
  await page.route("**/queue/join", async (route) => {
    asked.push(Date.now());
    if (asked.length > 1) return route.continue();
    const body = JSON.stringify({ code: "overloaded", message: "too many at once", retry_after_ms: 3_000 });
    return route.fulfill({ status: 503, contentType: "application/json", headers: { "retry-after": "3" }, body });
  });
  await page.goto(`/performances/${id}/queue`);
  await expect(page.getByTestId("again")).toContainText("Very many people");
  await expect(stage(page)).toHaveAttribute("data-stage", "lobby");
  expect(asked).toHaveLength(2);
  expect(asked[1]! - asked[0]!).toBeGreaterThanOrEqual(3_000);
});

test("a fresh visit loads few scripts", async ({ page, fan }) => {
  const { id } = await fan.lobbyPerformance();
  await waitInLobby(page, id);
  const bytes = await page.evaluate(() => {
    const sizes = new Map<string, number>();
    for (const entry of performance.getEntriesByType("resource") as PerformanceResourceTiming[]) {
      // What was preloaded and then used is told twice.
      const { name, encodedBodySize } = entry;
      if (/\.(js|wasm)$/.test(new URL(name).pathname)) sizes.set(name, Math.max(sizes.get(name) ?? 0, encodedBodySize));
    }
    return [...sizes.values()].reduce((sum, size) => sum + size, 0);
  });
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThanOrEqual(SCRIPTS_MAX_BYTES);
});

test("after the opening a fan computes the own place again, from what is published", async ({
  page,
  fan,
  another,
  browser,
}) => {
  test.setTimeout(120_000);
  const { id } = await fan.lobbyPerformance();
  const arrival = await fan.takePlace(id);
  for (let others = 0; others < 2; others += 1) await (await another()).takePlace(id);
  await page.goto(`/performances/${id}/draw`);
  await expect(page.getByTestId("not-drawn")).toBeVisible();
  await expect(page.getByTestId("seed")).toContainText("not published yet");
  await openWithEntryAtRest(browser, fan, id);

  await page.goto(`/performances/${id}/queue`);
  await expect(page.getByTestId("paused")).toBeVisible();
  const place = await page.getByTestId("place").textContent();
  await page.getByText("How the order is drawn").click();
  await expect(page.getByTestId("seed")).toHaveText(/^[0-9a-f]{64}$/);
  await page.getByTestId("to-draw").click();
  await page.waitForURL(`**/performances/${id}/draw`);

  await test.step("the own number is filled in, and gives the place", async () => {
    await expect(page.getByTestId("arrival")).toHaveValue(String(arrival + 1));
    await expect(page.getByTestId("place")).toHaveText(place!);
    await expect(page.getByTestId("command")).toContainText(`--performance ${id} --arrival ${arrival}`);
  });
  await test.step("nothing that is published contradicts itself", async () => {
    const outcomes = await page.getByTestId("check").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-outcome")));
    expect(outcomes.slice(0, 2)).toEqual(["holds", "holds"]);
    expect(outcomes).not.toContain("fails");
  });
  await test.step("every number of the lobby has a place of its own", async () => {
    const lobby = Number((await page.getByTestId("lobby").textContent())!.replaceAll(",", ""));
    expect(lobby).toBe((await fan.queueStatus(id)).lobby);
    const places = new Set<string>();
    for (let number = 1; number <= lobby; number += 1) {
      await page.getByTestId("arrival").fill(String(number));
      await page.getByTestId("recompute").click();
      await page.waitForURL(`**/draw?arrival=${number}`);
      places.add((await page.getByTestId("place").textContent())!);
    }
    const expected = Array.from({ length: lobby }, (_, place) => String(place + 1));
    expect([...places].sort((a, b) => Number(a) - Number(b))).toEqual(expected);
  });
});

test("a fan who asked for it is called when it is the turn, and a full house is told calmly", async ({
  page,
  fan,
  browser,
}) => {
  test.setTimeout(120_000);
  const id = await fan.performanceOf(LOBBY);
  await fan.takePlace(id);
  await openWithEntryAtRest(browser, fan, id);
  await countNotifications(page);
  await page.route("**/api/queue-enter", (route) => {
    const body = JSON.stringify({ code: "full", message: "full for the moment", retry_after_ms: 1_500 });
    return route.fulfill({ status: 503, contentType: "application/json", body });
  });
  await page.goto(`/performances/${id}/queue`);
  await expect(page.getByTestId("paused")).toBeVisible();
  await expect(page).toHaveTitle(/^[\d,]+ ahead · /);

  await page.getByTestId("call-me").click();
  await expect(page.getByTestId("called")).toContainText("sound and notification");
  expect(await notifications(page)).toEqual({ asked: 1, shown: [] });

  await resume(browser, fan, id);
  await expect(page).toHaveTitle(/^\(!\) It's your turn · /, { timeout: 30_000 });
  await expect(page.getByTestId("voice-now")).toHaveText("It's your turn");
  await expect(page.getByTestId("again")).toContainText("Your turn stays yours");
  expect(await notifications(page)).toEqual({ asked: 1, shown: ["It's your turn"] });

  await page.unroute("**/api/queue-enter");
  await page.waitForURL(`**/performances/${id}/seats**`, { timeout: 20_000 });
});
