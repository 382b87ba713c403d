// Seats kept for a presale: made on the organizer's page, opened by a code beside the map, and gone for
// everybody else.

import { randomUUID } from "node:crypto";
import { Member } from "../src/organizer";
import { holdSeats, openMapAt, readyMap } from "../src/pages";
import { expect, test } from "../src/test";

test("a fan with a code takes a seat that nobody else can have", async ({ fan, another, browser, baseURL }) => {
  test.setTimeout(120_000);
  const { id } = await fan.quietPerformance();
  const { seats } = await fan.freeSeats(id, 2);
  const [first, second] = seats.map(({ seat }) => seat) as [number, number];
  const name = `Presale ${randomUUID().slice(0, 8)}`;
  const context = await browser.newContext({ locale: "en-GB" });
  const organizer = await context.newPage();
  await Member.of(organizer, baseURL!, "organizer");
  const card = organizer.getByTestId("allocation").filter({ hasText: name });
  let code = "";

  await test.step("an organizer keeps two seats and makes a code", async () => {
    await organizer.goto(`/organizer/performances/${id}/desk`);
    await organizer.getByTestId("to-allocations").click();
    await readyMap(organizer);
    const form = organizer.getByTestId("keep-form");
    await form.getByTestId("typed-seats").fill(`# ${first}, ${second}`);
    await form.getByTestId("name").fill(name);
    await form.getByTestId("kind").selectOption("presale");
    await form.getByTestId("keep").click();
    await expect(card.getByTestId("seats")).toHaveText("2");
    await expect(card.getByTestId("free")).toHaveText("2");
    code = await card.getByTestId("code").inputValue();
    await card.getByTestId("add-code").click();
    await expect(organizer.getByTestId("code-added")).toContainText(code);
  });

  await test.step("nobody else can choose them", async () => {
    const other = await another();
    await other.enter(id);
    const { status, body } = await other.ask("hold", { performance: id, seats: String(first), key: randomUUID() });
    expect({ status, body }).toMatchObject({ status: 409, body: { code: "seat_not_for_sale", seats: [first] } });
  });

  await test.step("a wrong code opens nothing, the right one does", async () => {
    await fan.enter(id);
    const canvas = await openMapAt(fan.page, id, first);
    const panel = fan.page.getByTestId("have-code");
    await panel.locator("summary").click();
    await panel.getByTestId("code").fill("NOT-THIS-ONE");
    await panel.getByTestId("open-code").click();
    await expect(panel.getByTestId("refusal")).toHaveAttribute("data-code", "code_invalid");
    await panel.getByTestId("code").fill(code.toLowerCase());
    await panel.getByTestId("open-code").click();
    await expect(fan.page.getByTestId("kept-yours")).toContainText(name);
    await expect(fan.page.getByTestId("legend-kept")).toBeVisible();
    await canvas.focus();
    await fan.page.keyboard.press("Enter");
    await expect(fan.page.getByTestId("basket-seat")).toHaveCount(1);
    await holdSeats(fan.page);
  });

  await test.step("the rest is released, the held seat stays held", async () => {
    await organizer.reload();
    await expect(card.getByTestId("held")).toHaveText("1");
    const form = card.getByTestId("release-form");
    await card.getByText("Release now").click();
    await form.getByTestId("sure").check();
    await form.getByTestId("release").click();
    await expect(card).toHaveCount(0);
    await expect(organizer.getByTestId("released").filter({ hasText: name })).toHaveCount(1);
  });
  await context.close();
});
