// Orders that can be given back, and the terms that allow it.

import { randomUUID } from "node:crypto";
import { expect } from "@playwright/test";
import { CARD, type Fan } from "./fan";
import type { Member } from "./organizer";
import { heldTickets } from "./tickets";

/** The key of the sandbox provider in development. */
const PROVIDER = { authorization: "Bearer sandbox-api-key" };

export interface Paid {
  order: string;
  /** What the provider knows the payment by, and the page where it was paid. */
  attempt: string;
  pay_url: string;
  section: number;
  seats: number[];
}

/** Buys seats by the API and the provider's form; the fan is inside. */
export async function buySeats(fan: Fan, performance: string, count: number): Promise<Paid> {
  const { section, seats: found } = await fan.freeSeats(performance, count);
  const seats = found.map(({ seat }) => seat);
  const held = await fan.call<{ order: string }>("hold", { performance, seats: seats.join(","), key: randomUUID() });
  const started = await fan.call<{ attempt: string; redirect_url: string }>("order-pay", { order: held.order });
  await fan.page.context().request.post(started.redirect_url, { form: { card: CARD.pays }, maxRedirects: 0 });
  await expect
    .poll(async () => (await fan.call<{ status: string }>("order", { id: held.order })).status, { timeout: 30_000 })
    .toBe("fulfilled");
  return { order: held.order, attempt: started.attempt, pay_url: started.redirect_url, section, seats };
}

/** Has the bank take the money of a payment back by the provider's way for its own people; waits until the
 * order's tickets are frozen. */
export async function disputePayment(fan: Fan, paid: Paid): Promise<void> {
  const request = fan.page.context().request;
  const provider = new URL(paid.pay_url).origin;
  const found = await request.get(`${provider}/v1/payments?reference=${paid.attempt}`, { headers: PROVIDER });
  const payment = ((await found.json()) as { data: { id: string }[] }).data[0]!.id;
  const opened = await request.post(`${provider}/control/disputes`, { headers: PROVIDER, data: { payment } });
  expect(opened.status(), await opened.text()).toBe(200);
  const frozen = async () => (await heldTickets(fan, paid.order)).filter((ticket) => ticket.frozen).length;
  await expect.poll(frozen, { timeout: 30_000 }).toBe(paid.seats.length);
}

/** Asks for the money of one seat by the API, for what its quote says: finance has to agree. */
export async function askBack(fan: Fan, order: string, seat: number): Promise<void> {
  const { returns } = await fan.call<{ returns: { minor: number } }>("order-refund-quote", { order, seats: seat });
  await fan.call("order-refund-ask", { order, seats: seat, expected_minor: returns.minor });
}

/** Lets fans give back until an hour before the start, and keeps 10% of the price; seats are sold again. */
export async function allowRefunds(member: Member, id: string): Promise<void> {
  const save = async () => {
    const { version } = await member.call<{ version: number }>("organizer-terms", { id });
    const fields = {
      "form[allowed]": "yes",
      "form[ends]": "1",
      "form[unit]": "hours",
      "form[days][0]": "0",
      "form[kept][0]": "10",
      "form[returns_service_fee]": "yes",
      "form[resells]": "yes",
    };
    return (await member.ask("organizer-terms-save", { id, version, ...fields })).status;
  };
  // Somebody else may have saved in between.
  await expect.poll(save).toBe(200);
}

/** Whether a seat can be bought. */
export async function isFree(fan: Fan, performance: string, section: number, seat: number): Promise<boolean> {
  const { rows } = await fan.call<{ rows: { seats: { seat: number; available: boolean }[] }[] }>("seat-list", {
    id: performance,
    section,
  });
  return rows.flatMap(({ seats }) => seats).some((one) => one.seat === seat && one.available);
}
