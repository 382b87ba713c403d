// The whole purchase, as a person does it: account, mail, queue, map, hold, payment, ticket.

import { Fan, PASSWORD } from "../src/fan";
import { chooseTwoSeats, expectTickets, goToProvider, holdSeats, openMapAt, payWith, readyMap } from "../src/pages";
import { expect, test } from "../src/test";

test("a fan buys two seats, from sign-up to the tickets", async ({ page, baseURL }) => {
  test.setTimeout(120_000);
  const fan = new Fan(page, baseURL!);

  await test.step("sign up", async () => {
    await page.goto("/sign-up");
    await page.getByLabel("E-mail").fill(fan.email);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("main").getByRole("button", { name: /account|sign up/i }).click();
    await expect(page.getByTestId("who")).toHaveText(fan.email);
    await expect(page.getByTestId("confirm-hint")).toBeVisible();
  });

  await test.step("confirm the address by the link of the mail", async () => {
    await fan.confirmationToken();
    await page.goto("/dev/mailbox");
    const mail = page.getByTestId("mail").filter({ hasText: fan.email }).first();
    await mail.getByRole("link").first().click();
    await page.waitForURL(/\/confirm\?token=/);
    await page.getByTestId("confirm").click();
    await expect(page.getByTestId("confirm-hint")).toHaveCount(0);
  });

  const { slug, id } = await fan.openPerformance();
  await test.step("from the event to the queue, and in", async () => {
    await page.goto(`/events/${slug}`);
    await page.locator(`[data-performance="${id}"]`).getByTestId("to-queue").click();
    // The page takes the place, waits for the turn and goes in by itself.
    await page.waitForURL(`**/performances/${id}/seats**`, { timeout: 45_000 });
    await readyMap(page);
  });

  await test.step("choose two seats and hold them", async () => {
    const [seat] = (await fan.freeSeats(id, 3)).seats.slice(1);
    const canvas = await openMapAt(page, id, seat!.seat);
    await chooseTwoSeats(page, canvas);
    await expect(page.getByTestId("basket-total")).not.toBeEmpty();
    await holdSeats(page);
  });

  await test.step("pay at the provider and see the tickets", async () => {
    await expect(page.getByTestId("time-left")).toBeVisible();
    await goToProvider(page);
    await payWith(page, "pays");
    await page.waitForURL(/\/orders\/[0-9a-f-]+/);
    await expectTickets(page, 2);
  });

  await test.step("find the order again", async () => {
    await page.goto("/orders");
    await expect(page.getByTestId("order-row")).toHaveCount(1);
  });
});
