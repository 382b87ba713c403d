// "Pick for me": one press, and two neighbours are held, shown on the map and told in words.

import { goToProvider, readyMap } from "../src/pages";
import { expect, test } from "../src/test";

test("two seats are picked, held and shown, and can be given back", async ({ fan, page }) => {
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  await page.goto(`/performances/${id}/seats`);
  await readyMap(page);
  const picker = page.getByTestId("picker");
  await expect(page.getByTestId("pick-how-many")).toHaveValue("2");
  await page.getByTestId("pick").click();

  await test.step("in the basket and in words", async () => {
    await expect(page.getByTestId("own-hold").locator("li")).toHaveCount(2);
    await expect(page.getByRole("status").getByTestId("notice")).toContainText("2 seats side by side");
    await expect(picker).toHaveCount(0);
    await expect(page.getByTestId("announcement")).not.toBeEmpty();
  });

  await test.step("a reload finds the hold again", async () => {
    await page.reload();
    await expect(page.getByTestId("own-hold").locator("li")).toHaveCount(2);
  });

  await test.step("given back, other seats of one price can be picked", async () => {
    await page.getByTestId("give-back").click();
    await expect(picker).toBeVisible();
    await page.getByTestId("pick-how-many").selectOption("3");
    await page.getByTestId("pick-zone").selectOption({ index: 2 });
    await page.getByTestId("pick").click();
    await expect(page.getByTestId("own-hold").locator("li")).toHaveCount(3);
  });

  await test.step("and paid for", async () => {
    await page.getByTestId("to-checkout").click();
    await page.waitForURL(/\/orders\/[0-9a-f-]+$/);
    await goToProvider(page);
  });
});

test("the panel works by keyboard, and gives way to a choice by hand", async ({ fan, page }) => {
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  const { seats } = await fan.freeSeats(id, 2);
  await page.goto(`/performances/${id}/seats?focus=${seats[0]!.seat}`);
  const canvas = await readyMap(page);
  await canvas.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("basket-seat")).toHaveCount(1);
  await expect(page.getByTestId("picker")).toHaveCount(0);
  await canvas.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("picker")).toBeVisible();
  await page.getByTestId("pick-how-many").focus();
  await page.getByTestId("pick").focus();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("own-hold")).toBeVisible();
  await page.getByTestId("give-back").click();
});

test("map, panel and basket fit a small phone", async ({ fan, page }) => {
  await page.setViewportSize({ width: 360, height: 640 });
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  await page.goto(`/performances/${id}/seats`);
  const canvas = await readyMap(page);
  const inside = async (name: string) => {
    const box = (await page.getByTestId(name).boundingBox())!;
    expect(box.x).toBeGreaterThanOrEqual(0);
    expect(box.x + box.width).toBeLessThanOrEqual(360);
    expect(box.y + box.height, name).toBeLessThanOrEqual(640);
  };
  await inside("pick");
  await inside("hold");
  expect((await canvas.boundingBox())!.height).toBeGreaterThan(200);
});

test("without a pass the way to the queue is shown", async ({ fan, page }) => {
  const { id } = await fan.openPerformance();
  await page.goto(`/performances/${id}/seats`);
  await readyMap(page);
  await page.getByTestId("pick").click();
  await expect(page.getByTestId("notice").getByRole("link")).toHaveAttribute("href", `/performances/${id}/queue`);
});
