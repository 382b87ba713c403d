// The making of one sale by the pages, step by step, each with what must be seen on the way: what
// `organizer.spec.ts` tells in one piece.

import { readFileSync } from "node:fs";
import { expect, type Download, type Page } from "@playwright/test";
import type { Fan } from "./fan";
import {
  PICTURE,
  STADIUM,
  type Member,
  acceptPlan,
  daysAhead,
  fillPlace,
  missing,
  repair,
  saveDraft,
  savePrices,
  skippedInBerlin,
  uploadPlan,
} from "./organizer";
import { expectTickets, goToProvider, holdSeats, payWith, readyMap } from "./pages";

const VENUE = "Harbour Stadium";
/** Prices of the plan's five categories. */
const PRICES = [120, 90, 60, 45, 30];
/** The price of the zone that is added. */
export const BALCONY = 199;

/** An amount as English pages write it. */
export const euros = (amount: number) => `€${amount.toLocaleString("en", { minimumFractionDigits: 2 })}`;

/** Strictly, the stadium's file is refused; each of its faults is listed and marked. */
export async function refusedFile(page: Page): Promise<void> {
  await uploadPlan(page, STADIUM);
  await expect(page.getByTestId("import-state")).toHaveAttribute("data-state", "refused");
  await expect(page.getByTestId("import-state")).toContainText("126 errors");
  await expect(page.getByTestId("filter-errors")).toContainText("126");
  await expect(page.getByTestId("accept")).toHaveCount(0);
  // A finding leads to its seat on the drawing, where it is marked.
  await readyMap(page);
  const finding = page.getByTestId("finding").filter({ has: page.getByTestId("show-seat") }).first();
  await expect(finding).toHaveAttribute("data-kind", "error");
  await finding.getByTestId("show-seat").click();
  await expect(page.getByTestId("announcement")).toContainText("has an error");
}

/** Repaired, it becomes a plan, once somebody says that the repairs were read. */
export async function repairedFile(page: Page): Promise<void> {
  await repair(page);
  await expect(page.getByTestId("summary")).toContainText("738 seats");
  await fillPlace(page, VENUE, "Berlin", "Europe/Berlin");
  // Repairs that nobody has read are not taken.
  await page.getByTestId("accept").click();
  await expect(page.getByTestId("refusal")).toContainText("confirm that you did");
  await acceptPlan(page);
}

/** The plan as files to keep. */
export async function exports(page: Page): Promise<void> {
  await expect(page.getByTestId("summary")).toContainText("738 seats");
  await readyMap(page);
  const take = async (format: string): Promise<Download> => {
    const download = page.waitForEvent("download");
    await page.getByTestId(`export-${format}`).click();
    return download;
  };
  const csv = await take("csv");
  expect(csv.suggestedFilename()).toBe(`${VENUE}.csv`);
  const lines = readFileSync(await csv.path(), "utf8").trimEnd().split(/\r?\n/);
  expect(lines[0]).toBe("section,row,seat,x,y,category,price,currency,type,capacity,restricted_view,note,id");
  expect(lines).toHaveLength(739);
  const json = await take("json");
  expect(json.suggestedFilename()).toBe(`${VENUE}.json`);
  const plan = JSON.parse(readFileSync(await json.path(), "utf8")) as { zones: { name: string }[] };
  expect(plan.zones.map((zone) => zone.name)).toEqual(["Ground floor", "First Floor"]);
}

/** Sends a picture for the event of this page. */
export async function uploadPicture(page: Page, file: typeof PICTURE): Promise<void> {
  const form = page.getByTestId("picture-form");
  await form.getByLabel("Picture file").setInputFiles(file);
  await form.getByRole("button", { name: "Upload" }).click();
}

/** Gives the event a picture, which the page then shows. */
export async function poster(page: Page): Promise<void> {
  const shown = page.waitForResponse(/\/pictures\/[0-9a-f]+\.jpg$/);
  await uploadPicture(page, PICTURE);
  expect((await shown).status()).toBe(200);
}

/** Where, when and limits; what is impossible is refused, and nothing is published without prices. */
export async function draft(page: Page, operator: Member, id: string): Promise<void> {
  await expect(page.getByTestId("draft")).toBeVisible();
  expect(await missing(page)).toEqual(expect.arrayContaining(["plan", "starts", "opens", "currency"]));
  const times = { starts: daysAhead(60, "20:00"), opens: daysAhead(1, "10:00"), closes: daysAhead(60, "18:00") };
  const fields = { plan: `${VENUE}, Berlin · 738`, ...times, seatLimit: 4 };
  await saveDraft(page, { ...fields, opens: skippedInBerlin() });
  await expect(page.getByTestId("refusal-detail")).toContainText("does not exist in Europe/Berlin");
  await expect(page.getByTestId("refusal-detail")).toContainText("forward by 60 minutes");
  await saveDraft(page, fields);
  await expect(page.getByTestId("saved")).toBeVisible();
  await expect.poll(() => missing(page)).toEqual(["prices"]);
  await expect(page.getByTestId("publish")).toHaveCount(0);
  // Nor by the API.
  const { version } = await operator.call<{ version: number }>("organizer-draft", { id });
  const { status, body } = await operator.ask("organizer-draft-publish", { id, version });
  expect({ status, body }).toMatchObject({ status: 409, body: { code: "not_ready" } });
}

/** Seats of the stadium's file by floor and category. */
function house(): Record<string, number[]> {
  interface File {
    categories: { name: string }[];
    zones: { name: string; rows: { seats: { category: string }[] }[] }[];
  }
  const { categories, zones } = JSON.parse(readFileSync(STADIUM, "utf8")) as File;
  return Object.fromEntries(
    zones.map((zone) => {
      const seats = zone.rows.flatMap((row) => row.seats);
      return [zone.name, categories.map(({ name }) => seats.filter((seat) => seat.category === name).length)];
    }),
  );
}

/** Prices by category, a floor as a zone of its own, and a row off sale. */
export async function prices(page: Page): Promise<void> {
  const floors = house();
  const worth = (floor: string) => floors[floor]!.reduce((sum, seats, at) => sum + seats * PRICES[at]!, 0);
  const zone = (name: string) => page.getByTestId("price-table").getByTestId("zone").filter({ hasText: name });
  const gross = page.getByTestId("total-gross");
  await page.getByTestId("to-prices").click();
  const canvas = await readyMap(page);
  // The next change builds on the version that comes with the fresh prices.
  const fresh = page.waitForResponse((response) => response.url().endsWith("/api/organizer-prices"));
  await savePrices(page, PRICES.map(String));
  await expect(gross).toHaveText(euros(worth("Ground floor") + worth("First Floor")));
  await expect(page.getByText("Prices saved.")).toBeVisible();
  await (await fresh).finished();

  // A whole floor, by the list of sections.
  await page.getByTestId("pick-list").getByText("Sections and rows").click();
  await page.getByTestId("pick-block").filter({ hasText: "First Floor" }).getByTestId("pick-block-all").click();
  await expect(page.getByTestId("pick-count")).toHaveAttribute("data-count", "162");
  await page.getByTestId("zone-name").fill("Balcony");
  await page.getByTestId("zone-price").fill(String(BALCONY));
  await page.getByTestId("add-zone").click();
  await expect(zone("Balcony").getByTestId("zone-gross")).toHaveText(euros(162 * BALCONY));
  const whole = euros(worth("Ground floor") + 162 * BALCONY);
  await expect(gross).toHaveText(whole);
  await expect(page.getByTestId("pick-count")).toHaveAttribute("data-count", "0");

  // All seats by a rectangle; then one row by the keyboard.
  await page.getByTestId("pick-add").click();
  await canvas.scrollIntoViewIfNeeded();
  const box = (await canvas.boundingBox())!;
  await page.mouse.move(box.x + 2, box.y + 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + box.height - 2, { steps: 4 });
  await page.mouse.up();
  await expect(page.getByTestId("pick-count")).toHaveAttribute("data-count", "738");
  await page.getByTestId("clear-selection").click();
  await expect(page.getByTestId("pick-count")).toHaveAttribute("data-count", "0");
  await canvas.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("announcement")).not.toBeEmpty();
  await page.keyboard.press("r");
  await expect(page.getByTestId("pick-count")).toHaveAttribute("data-count", /^(7|13)$/);
  const row = await page.getByTestId("pick-count").getAttribute("data-count");
  // Not without a reason.
  await page.getByTestId("block").click();
  await expect(page.getByTestId("field-error")).toHaveAttribute("data-field", "reason");
  await page.getByTestId("reason").fill("Camera platform");
  await page.getByTestId("block").click();
  await expect(page.getByTestId("blocked-group")).toContainText("Camera platform");
  await expect(page.getByTestId("total-seats")).toContainText(`${row} off sale`);
  await expect(gross).not.toHaveText(whole);
}

/** Chooses two seats of the added zone, holds and pays them by the pages. By the list: in this file
 * the floors lie upon each other, and the map can't say which seat is meant. */
export async function buyBalcony(fan: Fan, performance: string, whileHeld: () => Promise<void>): Promise<void> {
  const { section, seats } = await fan.freeSeats(performance, 2, "First Floor");
  await fan.page.goto(`/performances/${performance}/list?section=${section}`);
  for (const { seat } of seats) await fan.page.locator(`input[data-testid="seat"][value="${seat}"]`).check();
  await holdSeats(fan.page);
  await expect(fan.page.getByTestId("total")).toHaveText(euros(2 * BALCONY));
  await whileHeld();
  await goToProvider(fan.page);
  await payWith(fan.page, "pays");
  await fan.page.waitForURL(/\/orders\/[0-9a-f-]+/);
  await expectTickets(fan.page, 2);
}
