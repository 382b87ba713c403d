// A declined card costs nothing but the try.

import { expectTickets, goToProvider, payWith } from "../src/pages";
import { expect, test } from "../src/test";

test("a declined card leaves the seats held, and a second card pays", async ({ fan, page }) => {
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  const { seats } = await fan.freeSeats(id, 2);
  const held = await fan.hold(id, seats.map((seat) => seat.seat));

  await page.goto(`/orders/${held.order}`);
  await goToProvider(page);
  await payWith(page, "declined");
  await expect(page.getByRole("alert")).toContainText("No money was taken");

  await payWith(page, "pays");
  await page.waitForURL(`**/orders/${held.order}**`);
  await expectTickets(page, 2);
});

test("leaving the provider's page leads back to an order that can still be paid", async ({ fan, page }) => {
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  const { seats } = await fan.freeSeats(id, 1);
  const held = await fan.hold(id, [seats[0]!.seat]);

  await page.goto(`/orders/${held.order}`);
  await goToProvider(page);
  const provider = page.url();
  await page.goto(`/orders/${held.order}`);
  // The attempt is still open: the way on leads to the same payment, not to a second one.
  await page.getByTestId("continue-paying").click();
  await page.waitForURL(provider);
  await payWith(page, "pays");
  await page.waitForURL(`**/orders/${held.order}**`);
  await expectTickets(page, 1);
});

test("twenty presses of Pay make one payment", async ({ fan }) => {
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  const { seats } = await fan.freeSeats(id, 1);
  const held = await fan.hold(id, [seats[0]!.seat]);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => fan.call<{ attempt: string }>("order-pay", { order: held.order })),
  );
  expect(new Set(answers.map((answer) => answer.attempt)).size).toBe(1);
});
