// The organizer's half without JavaScript: forms, links, and the second step of a control on its own page.

import {
  STADIUM,
  acceptPlan,
  createEvent,
  daysAhead,
  fillPlace,
  missing,
  newPerformance,
  publish,
  repair,
  saveDraft,
  savePrices,
  signIn,
  skippedInBerlin,
  uploadPlan,
} from "../src/organizer";
import { expect, test } from "../src/test";

const VENUE = "Paper Hall";

test("an operator makes a sale without JavaScript, and pauses it", async ({ page }) => {
  test.setTimeout(120_000);
  await signIn(page, "operator");

  await test.step("a file becomes a plan", async () => {
    await page.goto("/organizer/plans");
    await uploadPlan(page, STADIUM);
    await expect(page.getByTestId("import-state")).toContainText("126 errors");
    await expect(page.getByTestId("finding").first()).toBeVisible();
    await repair(page);
    await fillPlace(page, VENUE, "Berlin", "Europe/Berlin");
    await page.getByTestId("accept").click();
    await expect(page.getByTestId("refusal")).toContainText("confirm that you did");
    await fillPlace(page, VENUE, "Berlin", "Europe/Berlin");
    await acceptPlan(page);
    await expect(page.getByTestId("summary")).toContainText("738 seats");
  });

  const times = { starts: daysAhead(50, "20:00"), opens: daysAhead(2, "10:00"), closes: daysAhead(50, "18:00") };
  let id = "";
  await test.step("an event and a performance of it", async () => {
    await page.goto("/organizer");
    await createEvent(page, "Paper Evening", "The Plain Forms");
    id = await newPerformance(page);
    const draft = { plan: `${VENUE}, Berlin · 738`, ...times };
    await saveDraft(page, { ...draft, opens: skippedInBerlin() });
    await expect(page.getByTestId("refusal-detail")).toContainText("does not exist in Europe/Berlin");
    await saveDraft(page, draft);
    await expect(page.getByTestId("saved")).toBeVisible();
    expect(await missing(page)).toEqual(["prices"]);
    await expect(page.getByTestId("publish")).toHaveCount(0);
  });

  await test.step("prices by the table, seats by their names", async () => {
    await page.getByTestId("to-prices").click();
    await savePrices(page, ["120", "90", "60", "45.50", "30"]);
    await expect(page.getByTestId("total-gross")).not.toBeEmpty();
    await page.getByTestId("typed-seats").fill("First Floor; A");
    await page.getByTestId("reason").fill("Camera");
    await page.getByTestId("block").click();
    await expect(page.getByTestId("blocked-group")).toContainText("Camera");
    await page.getByTestId("typed-seats").fill("First Floor; Q; 99");
    await page.getByTestId("reason").fill("Nowhere");
    await page.getByTestId("block").click();
    await expect(page.getByTestId("seats-form").getByTestId("why")).toContainText("line 1");
    await page.getByTestId("to-performance").click();
    expect(await missing(page)).toEqual([]);
  });

  await test.step("publish", async () => {
    await publish(page);
    await expect(async () => {
      await page.goto(`/organizer/performances/${id}`);
      await expect(page.getByTestId("readiness")).toHaveAttribute("data-ready", "true", { timeout: 1_000 });
    }).toPass({ timeout: 20_000 });
  });

  await test.step("pause in two steps", async () => {
    await page.getByTestId("to-desk").click();
    await expect(page.getByTestId("desk-phase")).toHaveAttribute("data-phase", "lobby");
    await page.getByTestId("desk-pause").click();
    await page.waitForURL("**/desk?confirm=pause");
    await expect(page.getByTestId("desk-dialog")).toContainText("Nobody is let in until you resume");
    await page.getByTestId("desk-confirm").click();
    await page.waitForURL(/\/desk$/);
    await expect(page.getByTestId("desk-resume")).toBeVisible();
    await expect(page.getByTestId("desk-pause")).toHaveCount(0);
  });
});
