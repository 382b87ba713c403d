// The organizer makes the sale, from a venue's file to the last order. A server of its own: its
// performance is opened, paused and closed, which other specs must not meet.

import { randomUUID } from "node:crypto";
import type { Fan, Held } from "../src/fan";
import {
  Member,
  PICTURE,
  createEvent,
  daysAhead,
  emailOf,
  missing,
  newPerformance,
  openTab,
  publish,
  saveDraft,
  signIn,
  steer,
} from "../src/organizer";
import { expectTickets, goToProvider, payWith, readyMap } from "../src/pages";
import {
  BALCONY,
  buyBalcony,
  draft,
  euros,
  exports,
  poster,
  prices,
  refusedFile,
  repairedFile,
  uploadPicture,
} from "../src/sale";
import { Server } from "../src/server";
import { expect, test as base } from "../src/test";

let server: Server | undefined;
const test = base.extend({ baseURL: async ({}, use) => use(server?.url ?? "") });
test.beforeAll(async () => {
  base.setTimeout(120_000);
  server = await Server.start("organizer");
});
test.afterAll(async () => {
  await server?.stop();
});

test("an operator turns a venue's file into a sale, runs it, and finds every order of it", async ({
  page,
  browser,
  baseURL,
  another,
}) => {
  test.setTimeout(180_000);
  const operator = new Member(page, baseURL!, "operator");
  let id = "";
  let slug = "";

  await test.step("the way in", async () => {
    await signIn(page, "operator");
    await page.getByTestId("organizer-link").click();
    await expect(page.getByTestId("role")).toHaveText("Operator");
    await openTab(page, "Venue plans");
  });
  await test.step("strictly, the file is refused", () => refusedFile(page));
  await test.step("repaired, it becomes a plan", () => repairedFile(page));
  await test.step("the plan is taken out again", () => exports(page));

  await test.step("an event with a picture", async () => {
    await openTab(page, "Events");
    await createEvent(page, "Harbour Nights", "The Long Pier");
    await poster(page);
  });
  await test.step("a performance in the making", async () => {
    id = await newPerformance(page);
    await draft(page, operator, id);
  });
  await test.step("prices, a zone of its own, seats off sale", () => prices(page));
  await test.step("publishing", async () => {
    await page.getByTestId("to-performance").click();
    expect(await missing(page)).toEqual([]);
    await publish(page);
    await expect(page.getByTestId("readiness")).toHaveAttribute("data-ready", "true", { timeout: 20_000 });
    await expect(page.getByTestId("commitment")).toHaveText(/^[0-9a-f]{64}$/);
    slug = (await page.getByTestId("to-event").getAttribute("href"))!.replace("/events/", "");
  });

  const [first, second, third] = [await another(), await another(), await another()];
  let held!: Held;
  const desk = (name: string) => page.getByTestId(`desk-${name}`);
  await test.step("the lobby fills, and the sale is opened", async () => {
    await page.getByTestId("to-desk").click();
    const canvas = await readyMap(page);
    await expect(desk("phase")).toHaveAttribute("data-phase", "lobby");
    await first.page.goto(`/events/${slug}`);
    await first.page.locator(`[data-performance="${id}"]`).getByTestId("to-queue").click();
    await expect(first.page.getByTestId("queue")).toHaveAttribute("data-stage", "lobby");
    await second.call("queue-join", { performance: id });
    await expect(desk("waiting")).toHaveText("2");
    await steer(page, "open", "open");
    // Whoever waits on the page is let in by it.
    await first.page.waitForURL(`**/performances/${id}/seats**`, { timeout: 45_000 });
    await second.enter(id);
    await expect(desk("shoppers")).toHaveText("2");
    await expect(desk("waiting")).toHaveText("0");
    await expect(canvas).toHaveAttribute("data-available", /^\d+$/);
  });

  await test.step("a fan buys two seats of the added zone, and the desk shows it", async () => {
    const canvas = page.getByTestId("seat-map");
    const free = Number(await canvas.getAttribute("data-available"));
    await buyBalcony(first, id, async () => {
      await expect(desk("held")).toHaveText("2");
      await expect(canvas).toHaveAttribute("data-available", String(free - 2));
    });
    await expect(desk("sold")).toHaveText("2");
    await expect(desk("held")).toHaveText("0");
    await expect(desk("revenue")).toHaveText(euros(2 * BALCONY));
    const zone = desk("zones").getByRole("row", { name: "Balcony" }).getByRole("cell");
    await expect(zone).toHaveText([euros(BALCONY), "2", "0", /^\d+$/, euros(2 * BALCONY)]);
  });

  await test.step("pausing stops entry, not payment", async () => {
    const seat = (await second.freeSeats(id, 1, "Ground floor")).seats[0]!.seat;
    held = await second.hold(id, [seat]);
    await expect(desk("held")).toHaveText("1");
    await steer(page, "pause", "paused");
    await third.call("queue-join", { performance: id });
    await expect.poll(() => entry(third, id)).toBe("paused");
    await second.page.goto(`/orders/${held.order}`);
    await goToProvider(second.page);
    await payWith(second.page, "pays");
    await second.page.waitForURL(`**/orders/${held.order}**`);
    await expectTickets(second.page, 1);
    await expect(desk("sold")).toHaveText("3");
    expect(await entry(third, id)).toBe("paused");
  });

  await test.step("resumed, the next fan gets in; closed, nothing more is held", async () => {
    await steer(page, "resume", "open");
    await third.enter(id);
    const { seats } = await third.freeSeats(id, 1, "Ground floor");
    await steer(page, "close", "ended");
    for (const control of ["open", "pause", "resume", "close"]) await expect(desk(control)).toHaveCount(0);
    const { status, body } = await third.ask("hold", { performance: id, seats: seats[0]!.seat, key: randomUUID() });
    expect({ status, body }).toMatchObject({ status: 409, body: { code: "sale_closed" } });
  });

  await test.step("an order is found by its fan's address, with all that happened", async () => {
    await openTab(page, "Orders");
    await page.getByTestId("search").fill(first.email);
    await page.getByRole("button", { name: "Search" }).click();
    await expect(page.getByTestId("found-order")).toHaveCount(1);
    await page.getByTestId("found-order").click();
    await expect(page.getByTestId("order-story")).toHaveAttribute("data-status", "fulfilled");
    const moments = page.getByTestId("moment");
    for (const text of ["Seats held", "Payment 1 began", "Tickets issued: 2", "Seats marked as sold on the map"]) {
      await expect(moments.filter({ hasText: text })).toHaveCount(1);
    }
    await expect(page.getByTestId("attempt")).toHaveAttribute("data-status", "captured");
    await expect(page.getByTestId("ticket")).toHaveCount(2);
    await expect(page.getByTestId("webhook").first()).toBeAttached();
  });

  await test.step("the owner reads who did what", async () => {
    const owner = await browser.newPage();
    await Member.of(owner, baseURL!, "organizer");
    await owner.goto(`/organizer/audit?subject=${id}`);
    const rows = owner.getByTestId("audit-row");
    await expect(rows.first()).toBeVisible();
    const actions = await rows.evaluateAll((rows) => rows.map((row) => row.getAttribute("data-action")));
    const sale = ["sale.close", "sale.resume", "sale.pause", "sale.open", "performance.publish"];
    expect(actions.slice(0, sale.length)).toEqual(sale);
    await expect(rows.first()).toContainText("Closed the sale");
    await expect(rows.first()).toContainText(emailOf("operator"));
    await owner.context().close();
  });
});

test("a file that is no picture is refused in words", async ({ page }) => {
  await signIn(page, "operator");
  await page.goto("/organizer");
  await createEvent(page, "Without a Poster", "The Long Pier");
  await uploadPicture(page, { ...PICTURE, buffer: Buffer.from("no picture at all") });
  await expect(page.getByTestId("refusal")).toHaveAttribute("data-code", "invalid_input");
});

test("a lottery is decided in the draft, and what contradicts it is told", async ({ page }) => {
  await signIn(page, "operator");
  await page.goto("/organizer");
  await createEvent(page, "By Lot", "The Long Pier");
  await newPerformance(page);
  const plan = (await page.getByLabel("Venue plan").locator("option").nth(1).textContent())!.trim();
  const times = { starts: daysAhead(60, "20:00"), opens: daysAhead(1, "10:00"), closes: daysAhead(60, "18:00") };
  await page.getByTestId("mode").selectOption("lottery");
  await page.getByLabel("Minutes of a window").fill("45");
  await page.getByLabel("Places are given from").fill(daysAhead(2, "10:00"));
  await page.getByLabel("Accounts made no later than").fill(daysAhead(1, "09:00"));
  await saveDraft(page, { plan, ...times });
  await expect.poll(() => missing(page)).toEqual(["registers", "prices"]);
  await expect(page.getByTestId("mode")).toHaveValue("lottery");
  await expect(page.getByLabel("Minutes of a window")).toHaveValue("45");
  await page.getByLabel("Places are given from").fill(daysAhead(1, "08:00"));
  await page.getByTestId("save-draft").click();
  await expect.poll(() => missing(page)).toEqual(["prices"]);
});

/** The code with which the door refuses; nothing when it opens. */
async function entry(fan: Fan, performance: string): Promise<string> {
  const { body } = await fan.ask("queue-enter", { performance, nonce: "0123456789abcdef" });
  return (body as { code?: string }).code ?? "";
}
