// A performance is cancelled, and all of its orders get their money back. A server of its own: other
// specs sell what is cancelled here.

import { faults } from "../src/axe";
import { Member } from "../src/organizer";
import { buySeats } from "../src/refunds";
import { Server } from "../src/server";
import { expect, test as base } from "../src/test";

let server: Server | undefined;
const test = base.extend({ baseURL: async ({}, use) => use(server?.url ?? "") });
test.beforeAll(async () => {
  base.setTimeout(120_000);
  server = await Server.start("cancel");
});
test.afterAll(async () => {
  await server?.stop();
});

test("finance cancels a performance, and the money goes back by itself", async ({ fan, page, browser, baseURL }) => {
  test.setTimeout(180_000);
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  const { order } = await buySeats(fan, id, 1);
  const context = await browser.newContext({ locale: "en-GB" });
  const staff = await context.newPage();
  const finance = await Member.of(staff, baseURL!, "finance");
  const { event } = await finance.call<{ event: string }>("organizer-terms", { id });

  await test.step("not by another name", async () => {
    await staff.goto(`/organizer/performances/${id}/refunds`);
    await expect(staff.getByTestId("paid-orders")).not.toHaveText("0");
    await staff.getByTestId("cancel").locator("summary").click();
    await staff.getByTestId("typed").fill(`${event} II`);
    await staff.getByTestId("cancel-now").click();
    await expect(staff.getByTestId("refusal")).toHaveAttribute("data-code", "invalid_input");
    await expect(staff.getByTestId("batch")).toHaveCount(0);
  });

  await test.step("all orders are refunded while the page shows how far it is", async () => {
    await staff.getByTestId("typed").fill(event);
    await staff.getByTestId("cancel-now").click();
    await expect(staff.getByTestId("batch")).toHaveAttribute("data-done", "true", { timeout: 60_000 });
    await expect(staff.getByTestId("batch-failed")).toHaveText("0");
    await expect(staff.getByTestId("batch-returned")).not.toHaveText(/^\D*0(\.0+)?$/);
    expect(await faults(staff)).toEqual([]);
  });

  await test.step("the fan's order says so", async () => {
    await page.goto(`/orders/${order}`);
    await expect(page.getByTestId("order")).toHaveAttribute("data-status", "refunded");
    await expect(page.getByTestId("refund-brief")).toHaveAttribute("data-status", "succeeded");
    await page.goto(`/orders/${order}/refund`);
    await expect(page.getByTestId("refused")).toBeVisible();
    await expect(page.getByTestId("refund")).toContainText("Performance cancelled");
  });
  await context.close();
});
