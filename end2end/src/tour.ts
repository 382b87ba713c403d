// Every page, with the state that makes it worth looking at: for pictures and for accessibility.

import { expect, type Page } from "@playwright/test";
import type { EventCard, Fan, PerformanceRow } from "./fan";
import { type Member, STADIUM } from "./organizer";
import { allowRefunds, askBack, buySeats, disputePayment } from "./refunds";
import { offeredPath, offerTicket } from "./tickets";
import { planChoices, withOneSeatMore } from "./venue";

export interface Stop {
  name: string;
  path: string;
  /** Waits for what comes after the first paint. */
  ready?: (page: Page) => Promise<void>;
}

const map = async (page: Page) => {
  await expect(page.locator("canvas[data-ready='true']")).toBeVisible({ timeout: 20_000 });
};

/** Loads the page until it shows something: workers take a moment. */
const shows = (testid: string) => async (page: Page) => {
  const wanted = page.getByTestId(testid).first();
  await expect(async () => {
    if (!(await wanted.isVisible())) await page.reload();
    await expect(wanted).toBeVisible({ timeout: 1_000 });
  }).toPass({ timeout: 30_000 });
};

/** The number of a receipt comes a moment after the payment. */
const numbered = async (page: Page) => {
  await expect(async () => {
    await page.reload();
    await expect(page.getByTestId("receipt-number")).toHaveText(/\d{6}$/, { timeout: 1_000 });
  }).toPass({ timeout: 20_000 });
};

/** The last step before a performance is cancelled. */
const cancelling = async (page: Page) => {
  await page.getByTestId("cancel").locator("summary").click();
  await expect(page.getByTestId("cancel-form")).toBeVisible();
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
    { name: "draw", path: `/performances/${id}/draw?arrival=1` },
    ...(await lobby(fan, events)).map(({ performance }) => ({ name: "draw-lobby", path: `/performances/${performance}/draw` })),
    { name: "sign-in", path: "/sign-in" },
    { name: "sign-up", path: "/sign-up" },
    { name: "missing", path: "/no-such-page" },
  ];
}

/** Pages for a fan with a pass: one order open, one paid, in two performances if there are; one ticket is on
 * its way to `friend`, and one of theirs to the fan. */
export async function fanStops(fan: Fan, friend: Fan): Promise<Stop[]> {
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  const { order: paid, seats: bought } = await buySeats(fan, id, 1);
  const sent = await offerOne(fan, id, friend);
  await offerOne(friend, id, fan);
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
    { name: "receipt", path: `/orders/${paid}/receipt`, ready: numbered },
    { name: "refund", path: `/orders/${paid}/refund?seats=${bought[0]}` },
    { name: "tickets", path: "/tickets" },
    { name: "ticket-offered", path: `/orders/${sent}` },
    { name: "transfer", path: await offeredPath(fan) },
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

/** Buys one ticket and offers it to somebody; answers the order. */
async function offerOne(from: Fan, performance: string, to: Fan): Promise<string> {
  await from.enter(performance);
  const { order } = await buySeats(from, performance, 1);
  await offerTicket(from, order, to.email);
  return order;
}

/** Pages of an organizer's owner: one performance in the making, one on sale; `fan` leaves an order with
 * refunds under way, and one whose payment is disputed. */
export async function organizerStops(member: Member, fan: Fan): Promise<Stop[]> {
  const { id } = await fan.openPerformance();
  await fan.enter(id);
  const { order, seats } = await buySeats(fan, id, 3);
  await allowRefunds(member, id);
  await askBack(fan, order, seats[2]!);
  await member.call("organizer-order-refund", { order, seats: seats[0]!, note: "The view was blocked." });
  await fan.enter(id);
  const disputed = await buySeats(fan, id, 1);
  await disputePayment(fan, disputed);
  const { event, draft } = await draftOf(member);
  const { plans, imports } = await member.call<Plans>("organizer-plans");
  const refused = imports.find(({ state }) => state === "refused")?.id ?? (await member.upload(STADIUM));
  const performance = `/organizer/performances/${draft}`;
  const endpoint = await endpointOf(member);
  return [
    { name: "organizer-events", path: "/organizer" },
    { name: "organizer-event", path: `/organizer/events/${event}` },
    { name: "organizer-draft", path: performance },
    { name: "organizer-prices", path: `${performance}/prices`, ready: map },
    { name: "organizer-published", path: `/organizer/performances/${id}` },
    { name: "organizer-replan", path: `/organizer/performances/${id}/plan?plan=${await otherPlan(member, id)}` },
    { name: "organizer-desk", path: `/organizer/performances/${id}/desk`, ready: map },
    { name: "organizer-plans", path: "/organizer/plans" },
    { name: "organizer-import", path: `/organizer/imports/${refused}`, ready: map },
    { name: "organizer-plan", path: `/organizer/plans/${plans[0]!.id}`, ready: map },
    { name: "organizer-settings", path: "/organizer/settings", ready: shows("provider") },
    { name: "organizer-details", path: "/organizer/settings/details" },
    { name: "organizer-webhook", path: `/organizer/settings/webhooks/${endpoint}` },
    { name: "organizer-orders", path: "/organizer/orders" },
    { name: "organizer-order", path: `/organizer/orders/${order}` },
    { name: "organizer-disputed-order", path: `/organizer/orders/${disputed.order}` },
    { name: "organizer-order-refund", path: `/organizer/orders/${order}/refund?seats=${seats[1]}` },
    { name: "organizer-money", path: "/organizer/money" },
    { name: "organizer-payouts", path: "/organizer/money/payouts" },
    { name: "organizer-refunds", path: "/organizer/money/refunds" },
    // Also what was set aside: an amount that does not fit its order can't be made from outside.
    { name: "organizer-disputes", path: "/organizer/money/disputes", ready: shows("dispute") },
    { name: "organizer-reconciliation", path: "/organizer/money/reconciliation", ready: shows("day") },
    { name: "organizer-terms", path: `/organizer/performances/${id}/refunds` },
    { name: "organizer-cancel", path: `/organizer/performances/${id}/refunds`, ready: cancelling },
    { name: "organizer-members", path: "/organizer/members" },
    { name: "organizer-fees", path: "/organizer/settings/fees" },
    { name: "organizer-audit", path: "/organizer/audit" },
  ];
}

/** A plan that a performance could have; the one of an earlier round, if any. */
async function otherPlan(member: Member, performance: string): Promise<string> {
  const known = (await planChoices(member, performance)).find(({ current }) => !current);
  return known?.id ?? (await withOneSeatMore(member, performance)).plan;
}

/** An address that is told of events; the one of an earlier round, if any. */
async function endpointOf(member: Member): Promise<string> {
  const url = "https://hooks.example.org/tour";
  const { webhooks } = await member.call<{ webhooks: { endpoints: { id: string; url: string }[] } }>("organizer-settings");
  const known = webhooks.endpoints.find((endpoint) => endpoint.url === url);
  if (known) return known.id;
  // What it is told of does not happen on the tour.
  const made = await member.call<{ endpoint: string }>("organizer-webhook-add", { url, "kinds[0]": "refund.succeeded" });
  return made.endpoint;
}

interface Plans {
  plans: { id: string }[];
  imports: { id: string; state: string }[];
}
interface Draft {
  version: number;
  plans: { id: string }[];
}

/** A performance with plan and currency, and without the rest; the one of an earlier round, if any. */
async function draftOf(member: Member): Promise<{ event: string; draft: string }> {
  const title = "Evening in the Making";
  const events = await member.call<{ id: string; title: string; performances: { id: string }[] }[]>("organizer-events");
  const known = events.find((event) => event.title === title);
  if (known?.performances[0]) return { event: known.id, draft: known.performances[0].id };
  const fields = { "fields[title]": title, "fields[artist]": "Nobody Yet", "fields[description]": "To be written." };
  const event = await member.call<string>("organizer-event-save", fields);
  const draft = await member.call<string>("organizer-draft-new", { event });
  const { version, plans } = await member.call<Draft>("organizer-draft", { id: draft });
  await member.call("organizer-draft-save", {
    id: draft,
    version,
    "form[plan]": plans[0]!.id,
    "form[starts]": "",
    "form[opens]": "",
    "form[closes]": "",
    "form[seat_limit]": 4,
    "form[hold_ttl_min]": 15,
    "form[shoppers_max]": 500,
    "form[release_per_min]": 600,
    "form[currency]": "EUR",
  });
  return { event, draft };
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
