// A bank calls a payment into question: finance sees it, with the tickets frozen, and decides about seats.

import { CARD } from "../src/fan";
import { Member } from "../src/organizer";
import { expect, test } from "../src/test";

/** The key of the sandbox provider in development. */
const PROVIDER = { authorization: "Bearer sandbox-api-key" };

test("finance sees a disputed payment and decides what becomes of its seats", async ({ page, fan, baseURL }) => {
  test.setTimeout(120_000);
  const request = page.context().request;
  const { id } = await fan.quietPerformance();
  await fan.enter(id);
  const { seats } = await fan.freeSeats(id, 1);
  const held = await fan.hold(id, seats.map(({ seat }) => seat));

  await test.step("a fan pays, and the bank takes it back", async () => {
    const started = await fan.call<{ attempt: string; redirect_url: string }>("order-pay", { order: held.order });
    const form = { card: CARD.pays, expiry: "12/40", cvc: "123" };
    expect((await request.post(started.redirect_url, { form, maxRedirects: 0 })).status()).toBe(303);
    const status = async () => (await fan.call<{ status: string }>("order", { id: held.order })).status;
    await expect.poll(status, { timeout: 30_000 }).toBe("fulfilled");
    const provider = new URL(started.redirect_url).origin;
    const found = await request.get(`${provider}/v1/payments?reference=${started.attempt}`, { headers: PROVIDER });
    const payment = ((await found.json()) as { data: { id: string }[] }).data[0]!.id;
    const opened = await request.post(`${provider}/control/disputes`, { headers: PROVIDER, data: { payment } });
    expect(opened.status(), await opened.text()).toBe(200);
  });

  await test.step("finance reads what is disputed", async () => {
    await Member.of(page, baseURL!, "finance");
    const order = page.locator(`a[href="/organizer/orders/${held.order}"]`);
    const row = page.getByTestId("dispute").filter({ has: order });
    await expect(async () => {
      await page.goto("/organizer/money/disputes");
      await expect(row).toHaveAttribute("data-tickets", "frozen", { timeout: 1_000 });
    }).toPass({ timeout: 30_000 });
    await expect(page.getByTestId("open-disputes")).toBeVisible();
    await expect(page.getByTestId("aside")).toBeVisible();
  });

  await test.step("and sets what becomes of seats", async () => {
    const policy = page.getByTestId("seat-policy");
    for (const word of ["sell", "keep"]) {
      await page.getByTestId(word).check();
      await page.getByTestId("hours").fill("48");
      await page.getByTestId("policy-form").getByRole("button").click();
      await expect(policy).toHaveAttribute("data-policy", word);
      await expect(page.getByTestId("refusal")).toHaveCount(0);
    }
  });
});
