// Simplified Chinese is a full citizen: by the browser's wish, by choice, and to the end of a purchase.

import { openMapAt } from "../src/pages";
import { expect, test } from "../src/test";

const CHINESE = /[\u4e00-\u9fff]/;

test.describe("a browser that asks for Chinese", () => {
  test.use({ locale: "zh-CN" });

  test("gets it on every step, with prices and dates in its form", async ({ page, fan }) => {
    await page.goto("/");
    await expect(page.locator("html")).toHaveAttribute("lang", /^zh/);
    await expect(page.getByTestId("lead")).toContainText(CHINESE);
    await expect(page.getByRole("main")).toContainText(/\d{4}年\d{1,2}月\d{1,2}日/);

    const { slug, id } = await fan.openPerformance();
    await page.goto(`/events/${slug}`);
    await expect(page.getByTestId("evening").first()).toContainText(CHINESE);

    await fan.enter(id);
    const { seats } = await fan.freeSeats(id, 1);
    const canvas = await openMapAt(page, id, seats[0]!.seat);
    await expect(page.getByTestId("hold")).toHaveText(CHINESE);
    await canvas.focus();
    await page.keyboard.press("Enter");
    await expect(page.getByTestId("basket-seat")).toHaveText(CHINESE);

    const held = await fan.hold(id, [seats[0]!.seat]);
    await page.goto(`/orders/${held.order}`);
    await expect(page.getByTestId("pay")).toHaveText(CHINESE);
  });

  test("reads refusals in its language", async ({ page }) => {
    await page.goto("/sign-in");
    await page.getByRole("textbox").first().fill("nobody@example.org");
    await page.locator("input[type='password']").fill("not the right one");
    await page.getByRole("main").locator("button[type='submit']").click();
    await expect(page.getByTestId("refusal")).toContainText(CHINESE);
  });
});

test("the switch changes the language and stays on the page", async ({ page, fan }) => {
  const { slug } = await fan.openPerformance();
  await page.goto(`/events/${slug}`);
  await page.getByTestId("language").click();
  await expect(page.locator("html")).toHaveAttribute("lang", /^zh/);
  expect(new URL(page.url()).pathname).toBe(`/events/${slug}`);
  await page.getByTestId("language").click();
  await expect(page.locator("html")).toHaveAttribute("lang", /^en/);
});
