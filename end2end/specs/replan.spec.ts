// Another version of the plan for a performance on sale: looked at, put in place, and shown to fans who
// have the map open, while what they hold stays theirs. A server of its own: other specs watch its maps.

import { Member, emailOf } from "../src/organizer";
import { holdSeats, openMapAt, readyMap } from "../src/pages";
import { Server } from "../src/server";
import { expect, test as base } from "../src/test";
import { withOneSeatMore, type Newer } from "../src/venue";

let server: Server | undefined;
const test = base.extend({ baseURL: async ({}, use) => use(server?.url ?? "") });
test.beforeAll(async () => {
  base.setTimeout(120_000);
  server = await Server.start("replan");
});
test.afterAll(async () => {
  await server?.stop();
});

test("an organizer replaces the plan while a seat is held, and fans get the new map", async ({
  fan: holder,
  another,
  browser,
  baseURL,
}) => {
  test.setTimeout(180_000);
  const { id } = await holder.standingPerformance();
  const fan = await another();
  await Promise.all([holder.enter(id), fan.enter(id)]);
  const { seats } = await holder.freeSeats(id, 1);
  const held = await holder.hold(id, [seats[0]!.seat]);
  const canvas = await openMapAt(fan.page, id, seats[0]!.seat);
  await expect(canvas).toHaveAttribute("data-available", /^\d+$/);
  const free = Number(await canvas.getAttribute("data-available"));

  const context = await browser.newContext({ locale: "en-GB" });
  const page = await context.newPage();
  const organizer = await Member.of(page, baseURL!, "organizer");
  let newer!: Newer;
  const choice = (plan: string) => page.getByTestId("plan-choice").and(page.locator(`[data-plan="${plan}"]`));
  const look = async (plan: string) => {
    await choice(plan).getByRole("radio").check();
    await page.getByTestId("preview-plan").click();
    await page.waitForURL(`**/organizer/performances/${id}/plan?plan=${plan}`);
    await expect(page.getByTestId("plan-change")).toBeVisible();
  };

  await test.step("with one plan there is nothing to choose", async () => {
    await page.goto(`/organizer/performances/${id}`);
    await page.getByTestId("to-plan").click();
    await expect(page.getByTestId("only-one-plan")).toBeVisible();
    await expect(page.getByTestId("choose-plan")).toHaveCount(0);
  });

  await test.step("another version is looked at", async () => {
    newer = await withOneSeatMore(organizer, id);
    await page.reload();
    await expect(choice(newer.before).getByTestId("in-use")).toBeVisible();
    await expect(choice(newer.before).getByRole("radio")).toBeDisabled();
    await look(newer.plan);
    await expect(page.getByTestId("plan-change")).toHaveAttribute("data-allowed", "true");
    await expect(page.getByTestId("added")).toContainText(`${newer.section}; ${newer.row}; ${newer.seat}`);
    for (const none of ["gone", "lost", "renamed-sold"]) await expect(page.getByTestId(none)).toHaveCount(0);
  });

  await test.step("not without the tick, then it is put in place", async () => {
    await page.getByTestId("replace-plan").click();
    await expect(page).toHaveURL(/\/plan\?plan=/);
    await page.getByTestId("sure").check();
    await page.getByTestId("replace-plan").click();
    await page.waitForURL(`**/organizer/performances/${id}?replaced=1`);
    await expect(page.getByTestId("replaced")).toBeVisible();
    await expect(page.getByTestId("readiness")).toHaveAttribute("data-ready", "true", { timeout: 20_000 });
  });

  await test.step("a map that was open shows one free seat more", async () => {
    const offer = fan.page.getByRole("button", { name: "Show the new map" });
    await expect(async () => {
      if (await offer.isVisible()) await offer.click();
      await expect(canvas).toHaveAttribute("data-available", String(free + 1), { timeout: 1_000 });
    }).toPass({ timeout: 45_000 });
  });

  await test.step("the further seat can be chosen and held", async () => {
    const { sections } = await fan.call<{ sections: { index: number; name: string }[] }>("seat-list", { id });
    const section = sections.find(({ name }) => name === newer.section)!.index;
    await fan.page.goto(`/performances/${id}/list?section=${section}`);
    const seat = fan.page.getByRole("checkbox", { name: `Row ${newer.row}, seat ${newer.seat},` });
    await seat.check();
    await holdSeats(fan.page);
    await expect(fan.page.getByTestId("pay")).toBeVisible();
  });

  await test.step("the held seat is still held", async () => {
    await holder.page.goto(`/orders/${held.order}`);
    await expect(holder.page.getByTestId("pay")).toBeVisible();
    await holder.page.goto(`/performances/${id}/seats`);
    await readyMap(holder.page);
    await expect(holder.page.getByTestId("own-hold")).toBeVisible();
  });

  await test.step("there is no way back while somebody has the further seat", async () => {
    await page.goto(`/organizer/performances/${id}/plan`);
    await look(newer.before);
    await expect(page.getByTestId("lost")).toContainText("In open orders: 1");
    await expect(page.getByTestId("lost-held")).toContainText(`${newer.section}; ${newer.row}; ${newer.seat}`);
    await expect(page.getByTestId("replace-plan")).toHaveCount(0);
  });

  await test.step("the log tells who did it", async () => {
    await page.goto(`/organizer/audit?subject=${id}`);
    const row = page.getByTestId("audit-row").and(page.locator('[data-action="plan.replace"]'));
    await expect(row).toContainText("Replaced the plan of a performance");
    await expect(row).toContainText(emailOf("organizer"));
  });
  await context.close();
});
