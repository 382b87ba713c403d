// Kept seats without JavaScript: made by a form, opened by a form of the list, held from the list.

import { randomUUID } from "node:crypto";
import { Member } from "../src/organizer";
import { expect, test } from "../src/test";

test("a code opens kept seats in the list", async ({ fan, browser, baseURL }) => {
  test.setTimeout(120_000);
  const { id } = await fan.quietPerformance();
  const { section, seats } = await fan.freeSeats(id, 1);
  const seat = seats[0]!.seat;
  const name = `Club ${randomUUID().slice(0, 8)}`;
  const context = await browser.newContext({ locale: "en-GB", javaScriptEnabled: false });
  const organizer = await context.newPage();
  await Member.of(organizer, baseURL!, "organizer");
  await organizer.goto(`/organizer/performances/${id}/allocations`);
  const form = organizer.getByTestId("keep-form");
  await form.getByTestId("typed-seats").fill(`# ${seat}`);
  await form.getByTestId("name").fill(name);
  await form.getByTestId("kind").selectOption("channel");
  await form.getByTestId("keep").click();
  const card = organizer.getByTestId("allocation").filter({ hasText: name });
  const code = await card.getByTestId("code").inputValue();
  await card.getByTestId("add-code").click();
  await expect(card.getByTestId("code-line")).toHaveCount(1);

  await fan.enter(id);
  await fan.page.goto(`/performances/${id}/list?section=${section}`);
  const box = fan.page.locator(`input[data-testid="seat"][value="${seat}"]`);
  await expect(box).toHaveCount(0);
  await fan.page.getByTestId("have-code").locator("summary").click();
  await fan.page.getByTestId("have-code").getByTestId("code").fill(code);
  await fan.page.getByTestId("open-code").click();
  await expect(fan.page.getByTestId("kept-yours")).toContainText(name);
  await fan.page.goto(`/performances/${id}/list?section=${section}`);
  await box.check();
  await fan.page.getByTestId("hold").click();
  await fan.page.waitForURL(/\/orders\/[0-9a-f-]+/);
  await context.close();
});
