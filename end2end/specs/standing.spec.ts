// Places to stand: on the map an area is one thing, and the basket asks how many.

import { holdSeats, openMapAt } from "../src/pages";
import { expect, test } from "../src/test";

test("three places of a standing area are chosen by keyboard, counted in the basket and held", async ({ fan, page }) => {
  const { id, area } = await fan.standingPerformance();
  await fan.enter(id);
  const canvas = await openMapAt(page, id, await fan.firstPlace(id, area.area));
  await expect(page.getByTestId("announcement")).toContainText(`${area.name}, standing`);
  await canvas.focus();
  await page.keyboard.press("Enter");

  const line = page.getByTestId("basket-area");
  await expect(line).toHaveAttribute("data-area", String(area.area));
  await expect(line.getByTestId("area-count")).toHaveText(`1 × ${area.name}, standing`);
  // The keyboard has gone to where the question is asked.
  await expect(line.getByTestId("area-more")).toBeFocused();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await expect(line.getByTestId("area-count")).toHaveText(`3 × ${area.name}, standing`);
  await line.getByTestId("area-fewer").click();
  await line.getByTestId("area-more").click();
  await expect(page.getByTestId("basket-total")).not.toBeEmpty();
  await expect(page.getByTestId("basket-seat")).toHaveCount(0);

  await holdSeats(page);
  const held = await fan.call<{ order: string; seats: number[] }>("my-hold", { performance: id });
  expect(held.seats).toHaveLength(3);
  await page.goto(`/performances/${id}/seats`);
  await expect(page.getByTestId("own-hold")).toContainText(`3 × ${area.name}, standing`);
  await page.getByTestId("give-back").click();
  await expect(page.getByTestId("own-hold")).toHaveCount(0);
});

test("a tap on a standing area asks how many, and giving all up empties the basket", async ({ fan, page }) => {
  const { id, area } = await fan.standingPerformance();
  await fan.enter(id);
  const canvas = await openMapAt(page, id, await fan.firstPlace(id, area.area));
  // The seat that the map was opened at is in its middle.
  const box = (await canvas.boundingBox())!;
  await expect(async () => {
    await canvas.click({ position: { x: box.width / 2, y: box.height / 2 } });
    await expect(page.getByTestId("basket-area")).toHaveCount(1, { timeout: 1_000 });
  }).toPass({ timeout: 10_000 });
  await page.getByTestId("area-fewer").click();
  await expect(page.getByTestId("basket-area")).toHaveCount(0);
  await expect(page.getByTestId("basket-empty")).toBeVisible();
});
