// Every page, with the state that makes it worth looking at: for pictures and for accessibility.

import { expect, type Page } from "@playwright/test";
import { randomUUID } from "node:crypto";
import type { EventCard, Fan, PerformanceRow } from "./fan";
import { CARD } from "./fan";

export interface Stop {
  name: string;
  path: string;
  /** Waits for what comes after the first paint. */
  ready?: (page: Page) => Promise<void>;
}

const map = async (page: Page) => {
  await expect(page.locator("canvas[data-ready='true']")).toBeVisible({ timeout: 20_000 });
};

/** Pages for people who aren't signed in. */
export async function publicStops(fan: Fan): Promise<Stop[]> {
  const events = await fan.call<EventCard[]>("events");
  const { slug, id } = await fan.openPerformance();
  return [
    { name: "home", path: "/" },
    { name: "event", path: `/events/${slug}` },
    ...(await lobby(fan, events)).map(({ slug }) => ({ name: "event-lobby", path: `/events/${slug}` })),
    { name: "queue-guest", path: `/performances/${id}/queue` },
    { name: "sign-in", path: "/sign-in" },
    { name: "sign-up", path: "/sign-up" },
    { name: "missing", path: "/no-such-page" },
  ];
}

/** Pages for a fan with a pass: one order open, one paid, in two performances if there are. */
export async function fanStops(fan: Fan): Promise<Stop[]> {
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  const paid = await paidOrder(fan, id);
  await fan.enter(id);
  const { section, seats } = await fan.freeSeats(id, 2);
  const chosen = seats.map(({ seat }) => seat);
  const focus = `/performances/${id}/seats?focus=${chosen[0]}`;
  const events = await fan.call<EventCard[]>("events");
  const stops: Stop[] = [
    { name: "map", path: `/performances/${id}/seats`, ready: map },
    { name: "map-near", path: focus, ready: map },
    { name: "list", path: `/performances/${id}/list` },
    { name: "list-section", path: `/performances/${id}/list?section=${section}` },
    { name: "confirm", path: "/confirm?token=none" },
    { name: "mailbox", path: "/dev/mailbox" },
    { name: "ticket", path: `/orders/${paid}` },
  ];
  for (const { performance } of await lobby(fan, events)) {
    await fan.ask("queue-join", { performance });
    stops.push({ name: "queue-lobby", path: `/performances/${performance}/queue` });
  }
  const held = await fan.hold(id, chosen);
  stops.push(
    { name: "map-held", path: focus, ready: map },
    { name: "checkout", path: `/orders/${held.order}` },
    { name: "orders", path: "/orders" },
  );
  return stops;
}

/** The first performance whose waiting room is open and whose sale isn't, if the demo has one. */
async function lobby(fan: Fan, events: EventCard[]): Promise<{ slug: string; performance: string }[]> {
  for (const { slug } of events.filter((event) => event.phase === "lobby")) {
    const { performances } = await fan.call<{ performances: PerformanceRow[] }>("event", { slug });
    const found = performances.find((row) => row.phase === "lobby");
    if (found) return [{ slug, performance: found.id }];
  }
  return [];
}

/** Buys one seat by the API and the provider's form; returns the order. */
async function paidOrder(fan: Fan, performance: string): Promise<string> {
  const seat = (await fan.freeSeats(performance, 1)).seats[0]!.seat;
  const held = await fan.call<{ order: string }>("hold", { performance, seats: seat, key: randomUUID() });
  const { redirect_url } = await fan.call<{ redirect_url: string }>("order-pay", { order: held.order });
  await fan.page.context().request.post(redirect_url, { form: { card: CARD.pays }, maxRedirects: 0 });
  await expect
    .poll(async () => (await fan.call<{ status: string }>("order", { id: held.order })).status, { timeout: 30_000 })
    .toBe("fulfilled");
  return held.order;
}
