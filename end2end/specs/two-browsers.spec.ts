// The live map: what one fan does, another sees, and can't take.

import { randomUUID } from "node:crypto";
import { openMapAt } from "../src/pages";
import { expect, test } from "../src/test";

/** A change is on every map within this time. */
const LIVE_MS = 1_000;

test("a hold shows on another fan's map within a second, and so does its return", async ({ fan, another }) => {
  const other = await another();
  const { id } = await fan.quietPerformance();
  await fan.enter(id);
  await other.enter(id);
  const { seats } = await fan.freeSeats(id, 2);
  const numbers = seats.map((seat) => seat.seat);
  await openMapAt(fan.page, id, numbers[0]!);

  // Watched from before the hold: the first change after a quiet time is sent at once.
  await fan.page.evaluate(
    ([wanted, limit]) => {
      const canvas = document.querySelector("canvas[data-ready]")!;
      const seen = new Promise<number>((done, failed) => {
        const timer = setTimeout(() => failed(new Error("no change came")), limit as number);
        new MutationObserver(() => {
          if (canvas.getAttribute("data-last-change") === wanted) {
            clearTimeout(timer);
            done(Date.now());
          }
        }).observe(canvas, { attributes: true, attributeFilter: ["data-last-change"] });
      });
      Object.assign(window, { seen });
    },
    // The last seat of a hold is the last change of its delta.
    [`${numbers.at(-1)}:held`, 10_000],
  );
  const before = Date.now();
  const held = await other.hold(id, numbers);
  const answered = Date.now() - before;
  const seenAt = await fan.page.evaluate(() => (window as unknown as { seen: Promise<number> }).seen);
  expect(seenAt - before).toBeLessThan(answered + LIVE_MS);

  await test.step("the same seat is refused to the first fan, by name", async () => {
    const { status, body } = await fan.ask("hold", { performance: id, seats: numbers[0]!, key: randomUUID() });
    expect(status).toBe(409);
    expect(body).toMatchObject({ code: "seat_taken", seats: [numbers[0]] });
  });

  await test.step("given back, it can be had again", async () => {
    await other.call("hold-release", { order: held.order });
    const again = await fan.hold(id, numbers);
    expect(again.seats).toEqual(numbers);
    await fan.call("hold-release", { order: again.order });
  });
});

test("seats that another fan takes leave the basket with a word", async ({ fan, another }) => {
  const other = await another();
  const { id } = await fan.quietPerformance();
  await fan.enter(id);
  await other.enter(id);
  const { seats } = await fan.freeSeats(id, 1);
  const canvas = await openMapAt(fan.page, id, seats[0]!.seat);
  await canvas.focus();
  await fan.page.keyboard.press("Enter");
  await expect(fan.page.getByTestId("basket-seat")).toHaveCount(1);

  const held = await other.hold(id, [seats[0]!.seat]);
  await expect(fan.page.getByTestId("notice")).toContainText("was just taken");
  await expect(fan.page.getByTestId("basket-seat")).toHaveCount(0);
  await other.call("hold-release", { order: held.order });
});

test("a reload finds one's own hold again, and it can be given back there", async ({ fan }) => {
  const { id } = await fan.quietPerformance();
  await fan.enter(id);
  const { seats } = await fan.freeSeats(id, 2);
  const held = await fan.hold(id, seats.map((seat) => seat.seat));
  await openMapAt(fan.page, id, seats[0]!.seat);
  await expect(fan.page.getByTestId("own-hold")).toBeVisible();
  await expect(fan.page.getByTestId("to-checkout")).toHaveAttribute("href", `/orders/${held.order}`);
  await fan.page.getByTestId("give-back").click();
  await expect(fan.page.getByTestId("own-hold")).toHaveCount(0);
  expect(await fan.call("my-hold", { performance: id })).toBeNull();
});
