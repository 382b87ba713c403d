// A fan: an account in a browser context of its own. What a spec isn't about is done by the API, with
// the cookies of the page, so that each spec shows only its own subject.

import { randomUUID } from "node:crypto";
import { expect, type Page } from "@playwright/test";

export const PASSWORD = "a long and calm password";

/** Numbers of the sandbox provider's test cards. */
export const CARD = { pays: "4242 4242 4242 4242", declined: "4000 0000 0000 0002" };

export interface EventCard {
  slug: string;
  title: string;
  phase: string;
}
export interface PerformanceRow {
  id: string;
  phase: string;
  stock: number;
}
interface ListSeat {
  seat: number;
  label: string;
  available: boolean;
  accessible: boolean;
}
export interface ListArea {
  area: number;
  section: number;
  name: string;
  free: number;
}
interface SeatList {
  sections: { index: number; name: string; available: number }[];
  rows: { label: string; seats: ListSeat[] }[];
  areas: ListArea[];
}
export interface Held {
  order: string;
  seats: number[];
  expires: number;
}
/** The polled object of a queue, as far as specs look at it. */
export interface QueueStatus {
  phase: string;
  now: number;
  opens_at: number;
  lobby: number | null;
  drawn: { seed: string } | null;
  serving: number;
}
interface Answer {
  status: number;
  body: unknown;
}

export class Fan {
  readonly email: string = `fan-${randomUUID()}@example.org`;

  constructor(
    readonly page: Page,
    readonly url: string,
  ) {}

  /** Calls a server function; a refusal is an answer, too. */
  async ask(endpoint: string, form: Record<string, string | number> = {}): Promise<Answer> {
    const response = await this.page.context().request.post(`${this.url}/api/${endpoint}`, {
      form,
      headers: { origin: this.url, accept: "application/json" },
    });
    const json = response.headers()["content-type"]?.startsWith("application/json");
    return { status: response.status(), body: json ? await response.json() : await response.text() };
  }

  /** Calls a server function that must succeed. */
  async call<T>(endpoint: string, form: Record<string, string | number> = {}): Promise<T> {
    const { status, body } = await this.ask(endpoint, form);
    expect(status, `${endpoint}: ${JSON.stringify(body)}`).toBe(200);
    return body as T;
  }

  /** Makes the account, signs in and confirms the address. */
  async join(): Promise<void> {
    await this.call("sign-up", { email: this.email, password: PASSWORD });
    await this.call("confirm-email", { token: await this.confirmationToken() });
    // The session says whether the address is confirmed; a new sign-in has it for certain.
    await this.call("sign-in", { email: this.email, password: PASSWORD });
  }

  /** The token of the link in the newest mail to this fan. Mail is sent by a worker: it takes a moment. */
  async confirmationToken(): Promise<string> {
    let token = "";
    await expect
      .poll(async () => {
        const mails = await this.call<{ to: string; body: string }[]>("mailbox");
        const bodies = mails.filter((mail) => mail.to === this.email).map((mail) => mail.body);
        token = bodies.map((body) => /\/confirm\?token=([^\s"]+)/.exec(body)?.[1] ?? "").find(Boolean) ?? "";
        return token;
      })
      .not.toBe("");
    return decodeURIComponent(token);
  }

  /** A performance on sale with enough seats, and the address of its event. */
  async openPerformance(): Promise<{ slug: string; id: string }> {
    return (await this.openPerformances())[0]!;
  }

  /** The last of them, for specs that watch every change of a map: most others use the first. */
  async quietPerformance(): Promise<{ slug: string; id: string }> {
    return (await this.openPerformances()).at(-1)!;
  }

  /** The performance whose waiting room takes places before its sale opens. */
  async lobbyPerformance(): Promise<{ slug: string; id: string }> {
    for (const { slug } of await this.call<EventCard[]>("events")) {
      const event = await this.call<{ performances: PerformanceRow[] }>("event", { slug });
      const found = event.performances.find((row) => row.phase === "lobby");
      if (found) return { slug, id: found.id };
    }
    throw new Error("the demo has no performance in its lobby");
  }

  /** The first performance of an event, whatever its phase. */
  async performanceOf(slug: string): Promise<string> {
    return (await this.call<{ performances: PerformanceRow[] }>("event", { slug })).performances[0]!.id;
  }

  private async openPerformances(): Promise<{ slug: string; id: string }[]> {
    const events = await this.call<EventCard[]>("events");
    const found: { slug: string; id: string }[] = [];
    for (const { slug } of events) {
      const event = await this.call<{ performances: PerformanceRow[] }>("event", { slug });
      const open = event.performances.filter((row) => row.phase === "open" && row.stock > 100);
      found.push(...open.map(({ id }) => ({ slug, id })));
    }
    if (found.length === 0) throw new Error(`the demo has no performance on sale: ${JSON.stringify(events)}`);
    return found;
  }

  /** An open performance with a standing area that has places left. */
  async standingPerformance(): Promise<{ slug: string; id: string; area: ListArea }> {
    for (const { slug, id } of await this.openPerformances()) {
      const { areas } = await this.call<SeatList>("seat-list", { id });
      const area = areas.find(({ free }) => free > 20);
      if (area) return { slug, id, area };
    }
    throw new Error("the demo has no open performance with a standing area");
  }

  /** The first place of a standing area, by the published map. */
  async firstPlace(performance: string, area: number): Promise<number> {
    const { map_digest } = await this.call<{ map_digest: string }>("performance", { id: performance });
    const map = await this.page.context().request.get(`${this.url}/maps/${map_digest}.json`);
    const { rows } = (await map.json()) as { rows: { first: number }[] };
    return rows[area]!.first;
  }

  /** Where a queue stands. */
  async queueStatus(performance: string): Promise<QueueStatus> {
    const response = await this.page.context().request.get(`${this.url}/api/performances/${performance}/queue/status`);
    expect(response.status()).toBe(200);
    return (await response.json()) as QueueStatus;
  }

  /** Takes a place by the API; the number is from 0. */
  async takePlace(performance: string): Promise<number> {
    return (await this.call<{ arrival: number }>("queue-join", { performance })).arrival;
  }

  /** Takes a place and goes in when it is called. */
  async enter(performance: string): Promise<void> {
    await this.call("queue-join", { performance });
    const nonce = randomUUID();
    await expect
      .poll(async () => (await this.ask("queue-enter", { performance, nonce })).status, { timeout: 45_000, intervals: [250] })
      .toBe(200);
  }

  /** `count` free neighbours of one row, from a place chosen by chance, so that specs don't meet;
   * of the named section, if one is. */
  async freeSeats(performance: string, count: number, name?: string): Promise<{ section: number; seats: ListSeat[] }> {
    const { sections } = await this.call<SeatList>("seat-list", { id: performance });
    const named = sections.filter((section) => name === undefined || section.name === name);
    const open = named.filter((section) => section.available >= 4 * count);
    for (let tries = 0; tries < 20; tries += 1) {
      const section = open[Math.floor(Math.random() * open.length)];
      if (!section) break;
      const { rows } = await this.call<SeatList>("seat-list", { id: performance, section: section.index });
      const runs = rows.flatMap(({ seats }) => neighbours(seats, count));
      const run = runs[Math.floor(Math.random() * runs.length)];
      if (run) return { section: section.index, seats: run };
    }
    throw new Error(`no ${count} free neighbours in ${performance}`);
  }

  /** Holds seats by the API. */
  async hold(performance: string, seats: number[]): Promise<Held> {
    return this.call<Held>("hold", { performance, seats: seats.join(","), key: randomUUID() });
  }
}

function neighbours(seats: ListSeat[], count: number): ListSeat[][] {
  const free = (seat: ListSeat) => seat.available && !seat.accessible;
  return seats
    .map((_, start) => seats.slice(start, start + count))
    .filter((run) => run.length === count && run.every(free));
}
