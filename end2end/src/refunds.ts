// Orders that can be given back, and the terms that allow it.

import { randomUUID } from "node:crypto";
import { expect } from "@playwright/test";
import { CARD, type Fan } from "./fan";
import type { Member } from "./organizer";

export interface Paid {
  order: string;
  section: number;
  seats: number[];
}

/** Buys seats by the API and the provider's form; the fan is inside. */
export async function buySeats(fan: Fan, performance: string, count: number): Promise<Paid> {
  const { section, seats: found } = await fan.freeSeats(performance, count);
  const seats = found.map(({ seat }) => seat);
  const held = await fan.call<{ order: string }>("hold", { performance, seats: seats.join(","), key: randomUUID() });
  const { redirect_url } = await fan.call<{ redirect_url: string }>("order-pay", { order: held.order });
  await fan.page.context().request.post(redirect_url, { form: { card: CARD.pays }, maxRedirects: 0 });
  await expect
    .poll(async () => (await fan.call<{ status: string }>("order", { id: held.order })).status, { timeout: 30_000 })
    .toBe("fulfilled");
  return { order: held.order, section, seats };
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
