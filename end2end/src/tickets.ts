// Tickets on their way from one fan to another.

import { expect } from "@playwright/test";
import type { Fan } from "./fan";

export interface HeldTicket {
  id: string;
  frozen: boolean;
}

/** The tickets of a paid order. */
export async function heldTickets(fan: Fan, order: string): Promise<HeldTicket[]> {
  return (await fan.call<{ ticket: HeldTicket }[]>("order-qr", { order })).map(({ ticket }) => ticket);
}

/** Offers the first ticket of an order to an address by the API. */
export async function offerTicket(fan: Fan, order: string, email: string): Promise<void> {
  const [ticket] = await heldTickets(fan, order);
  await fan.call("ticket-offer", { ticket: ticket!.id, email });
}

/** The path of the newest offer that was mailed to a fan. */
export async function offeredPath(fan: Fan): Promise<string> {
  let path = "";
  await expect
    .poll(async () => {
      const mails = await fan.call<{ to: string; body: string }[]>("mailbox");
      const bodies = mails.filter((mail) => mail.to === fan.email).map((mail) => mail.body);
      path = bodies.map((body) => /\/transfers\/[0-9a-f]+/.exec(body)?.[0] ?? "").find(Boolean) ?? "";
      return path;
    })
    .not.toBe("");
  return path;
}
