// The draw without JavaScript: a place by a form, and the place that follows from it. A server of its own:
// its one lobby is opened on the way.

import { Server } from "../src/server";
import { expect, test as base } from "../src/test";
import { openWithEntryAtRest, stage } from "../src/waiting";

let server: Server | undefined;
const test = base.extend({ baseURL: async ({}, use) => use(server?.url ?? "") });
test.beforeAll(async () => {
  base.setTimeout(120_000);
  server = await Server.start("draw");
});
test.afterAll(async () => {
  await server?.stop();
});

test("a fan takes a place, and computes it again after the draw, by forms alone", async ({ page, fan, another, browser }) => {
  test.setTimeout(120_000);
  const { id } = await fan.lobbyPerformance();
  const others = [await another(), await another()];
  for (const other of others) await other.takePlace(id);
  await page.goto(`/performances/${id}/queue`);
  await page.getByTestId("join").click();
  await expect(stage(page)).toHaveAttribute("data-stage", "lobby");
  const number = (await page.getByTestId("number").textContent())!;
  await openWithEntryAtRest(browser, fan, id);

  await page.goto(`/performances/${id}/queue`);
  await expect(page.getByTestId("paused")).toBeVisible();
  const place = (await page.getByTestId("place").textContent())!;
  await page.goto(`/performances/${id}/draw`);
  await expect(page.getByTestId("arrival")).toHaveValue(number);
  await expect(page.getByTestId("place")).toHaveText(place);

  await page.getByTestId("arrival").fill("1");
  await page.getByTestId("recompute").click();
  await page.waitForURL("**/draw?arrival=1");
  await expect(page.getByTestId("number")).toHaveText("1");
  await expect(page.getByTestId("place")).toHaveText(/^[123]$/);
  await page.getByTestId("arrival").fill("no number");
  await page.getByTestId("recompute").click();
  await expect(page.getByTestId("no-number")).toBeVisible();
});
