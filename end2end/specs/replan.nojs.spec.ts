// Another version of the plan without JavaScript: choice, dry run and step are forms, and a change that
// came too late is told on the page. A server of its own: other specs watch its maps.

import { Member } from "../src/organizer";
import { Server } from "../src/server";
import { expect, test as base } from "../src/test";
import { withOneSeatMore } from "../src/venue";

let server: Server | undefined;
const test = base.extend({ baseURL: async ({}, use) => use(server?.url ?? "") });
test.beforeAll(async () => {
  base.setTimeout(120_000);
  server = await Server.start("replan-nojs");
});
test.afterAll(async () => {
  await server?.stop();
});

test("a plan is replaced by forms, and put back", async ({ fan, browser, baseURL }) => {
  test.setTimeout(120_000);
  const { id } = await fan.standingPerformance();
  await fan.enter(id);
  const held = await fan.hold(id, [(await fan.freeSeats(id, 1)).seats[0]!.seat]);
  const context = await browser.newContext({ locale: "en-GB", javaScriptEnabled: false });
  const page = await context.newPage();
  const organizer = await Member.of(page, baseURL!, "organizer");
  const newer = await withOneSeatMore(organizer, id);
  const look = async (plan: string) => {
    const choice = page.getByTestId("plan-choice").and(page.locator(`[data-plan="${plan}"]`));
    await choice.getByRole("radio").check();
    await page.getByTestId("preview-plan").click();
    await page.waitForURL(`**/plan?plan=${plan}`);
    await expect(page.getByTestId("plan-change")).toHaveAttribute("data-allowed", "true");
  };
  const replace = async () => {
    await page.getByTestId("sure").check();
    await page.getByTestId("replace-plan").click();
  };

  await test.step("somebody else is quicker", async () => {
    await page.goto(`/organizer/performances/${id}/plan`);
    await look(newer.plan);
    await expect(page.getByTestId("added")).toContainText(`${newer.section}; ${newer.row}; ${newer.seat}`);
    const { from } = await organizer.call<{ from: string }>("organizer-plan-preview", { id, plan: newer.plan });
    await organizer.call("organizer-plan-replace", { id, from, plan: newer.plan });
    await replace();
    await expect(page.getByTestId("refusal").first()).toBeVisible();
    await expect(page.getByTestId("replace-plan")).toHaveCount(0);
  });

  await test.step("the old plan is put in place again", async () => {
    await look(newer.before);
    await expect(page.getByTestId("gone")).toContainText(`${newer.section}; ${newer.row}; ${newer.seat}`);
    await replace();
    await page.waitForURL(`**/organizer/performances/${id}?replaced=1`);
    await expect(page.getByTestId("replaced")).toContainText("tickets stay valid");
  });

  await test.step("the held seat is still held", async () => {
    await fan.page.goto(`/orders/${held.order}`);
    await expect(fan.page.getByTestId("pay")).toBeVisible();
  });
  await context.close();
});
