// A ticket goes from one fan to another: offered by a form, accepted by the link of a mail.

import { expectTickets, goToProvider, payWith } from "../src/pages";
import { expect, test } from "../src/test";
import { offeredPath } from "../src/tickets";

test("a ticket is offered, accepted, and then the other's alone", async ({ fan, page, another }) => {
  test.setTimeout(90_000);
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  const { seats } = await fan.freeSeats(id, 2);
  const held = await fan.hold(id, seats.map((seat) => seat.seat));
  await page.goto(`/orders/${held.order}`);
  await goToProvider(page);
  await payWith(page, "pays");
  await page.waitForURL(`**/orders/${held.order}**`);
  await expectTickets(page, 2);
  const friend = await another();

  await test.step("offer it", async () => {
    const manage = page.getByTestId("manage").first();
    await manage.locator("summary").click();
    const form = manage.getByTestId("offer");
    await form.getByRole("textbox").fill(friend.email);
    await form.getByRole("button").click();
    await expect(page.locator('[data-testid="ticket"][data-state="offered"]')).toHaveCount(1);
    await expect(page.getByTestId("take-back")).toHaveCount(1);
  });

  await test.step("accept it", async () => {
    await friend.page.goto(await offeredPath(friend));
    await expect(friend.page.getByTestId("offer")).toContainText("seat");
    await friend.page.getByTestId("accept").click();
    await friend.page.waitForURL(/\/tickets\?ticket=/);
    await expectTickets(friend.page, 1);
  });

  await test.step("the buyer keeps one, and sees where the other went", async () => {
    await page.goto(`/orders/${held.order}`);
    await expect(page.locator('[data-testid="ticket"][data-state="gone"]')).toContainText(friend.email);
    await expect(page.getByTestId("qr")).toHaveCount(1);
    const paper = await page.context().request.get(`${fan.url}/orders/${held.order}/tickets.pdf`);
    expect(paper.headers()["content-type"]).toBe("application/pdf");
    expect((await paper.body()).subarray(0, 5).toString()).toBe("%PDF-");
  });

  await test.step("a name on it makes another code", async () => {
    const before = await page.locator('[data-testid="ticket"][data-state="valid"]').getAttribute("data-ticket");
    const manage = page.getByTestId("manage");
    await manage.locator("summary").click();
    // Another form is refused before, and keeps what was typed.
    const offer = manage.getByTestId("offer");
    await offer.getByRole("textbox").fill(fan.email);
    await offer.getByRole("button").click();
    await expect(page.getByTestId("refusal")).toHaveAttribute("data-code", "invalid_input");
    await expect(offer.getByRole("textbox")).toHaveValue(fan.email);
    const form = manage.getByTestId("rename");
    await form.getByRole("textbox").fill("Ana Ruiz");
    await form.getByRole("button").click();
    await expect(page.getByTestId("ticket-name")).toHaveText("Ana Ruiz");
    await expect(page.getByTestId("refusal"), "the latest answer wins").toHaveCount(0);
    await expect(page.locator('[data-testid="ticket"][data-state="valid"]')).not.toHaveAttribute("data-ticket", before!);
  });
});
