// Another version of a venue's plan: the file of the one in use with one seat more, uploaded and accepted
// by the API. Whether and when a performance gets it is the specs' matter.

import { randomUUID } from "node:crypto";
import { expect } from "@playwright/test";
import type { Member } from "./organizer";

/** The version, and where its further seat is. */
export interface Newer {
  plan: string;
  /** The plan that was in use when it was made. */
  before: string;
  section: string;
  row: string;
  seat: string;
}

interface FileSeat {
  seat_guid: string;
  seat_number: string;
  position: { x: number; y: number };
}
interface FileRow {
  row_number: string;
  /** Words for the seats: rows of another kind than plain seats tell it here. */
  seat_label?: string;
  seats: FileSeat[];
}
interface File {
  zones: { name: string; rows: FileRow[] }[];
}
interface Choice {
  id: string;
  current: boolean;
}
interface Place {
  venue: string;
  city: string;
  time_zone: string;
}

/** The plans that a performance could have. */
export async function planChoices(member: Member, performance: string): Promise<Choice[]> {
  return (await member.call<{ choices: Choice[] }>("organizer-plan-choices", { id: performance })).choices;
}

/** Makes a version with one seat more at the end of a row. */
export async function withOneSeatMore(member: Member, performance: string): Promise<Newer> {
  const before = (await planChoices(member, performance)).find(({ current }) => current)!.id;
  const request = member.page.context().request;
  const response = await request.get(`${member.url}/api/organizer-plan-export/${before}.json`);
  expect(response.status()).toBe(200);
  const file = (await response.json()) as File;
  const { section, row } = plainRow(file);
  const [last, next] = [row.seats.at(-1)!, row.seats.at(-2)!];
  const seat = String(Math.max(...row.seats.map(({ seat_number }) => Number(seat_number))) + 1);
  const beyond = (at: "x" | "y") => 2 * last.position[at] - next.position[at];
  row.seats.push({
    ...last,
    seat_guid: `added/${randomUUID()}`,
    seat_number: seat,
    position: { x: beyond("x"), y: beyond("y") },
  });
  const { place } = (await member.call<{ row: { place: Place } }>("organizer-plan", { id: before })).row;
  const plan = await accepted(member, JSON.stringify(file), place);
  return { plan, before, section, row: row.row_number, seat };
}

/** A row of numbered seats that is the only one of its name in its section. */
function plainRow({ zones }: File): { section: string; row: FileRow } {
  for (const { name, rows } of zones) {
    const alone = (row: FileRow) => rows.filter(({ row_number }) => row_number === row.row_number).length === 1;
    const numbered = (row: FileRow) => row.seats.length >= 5 && row.seats.every((seat) => /^\d+$/.test(seat.seat_number));
    const plain = (row: FileRow) => row.seat_label === undefined || row.seat_label === "Seat %s";
    const row = rows.find((row) => plain(row) && alone(row) && numbered(row));
    if (row) return { section: name, row };
  }
  throw new Error("the plan has no row of numbered seats");
}

/** Uploads a file and makes a plan of it; remarks count as read. */
async function accepted(member: Member, content: string, place: Place): Promise<string> {
  const file = { name: "newer.json", mimeType: "application/json", buffer: Buffer.from(content) };
  const response = await member.page.context().request.post(`${member.url}/api/organizer-plan-upload`, {
    multipart: { file },
    headers: { origin: member.url, accept: "application/json" },
  });
  expect(response.status(), await response.text()).toBe(200);
  const { id } = (await response.json()) as { id: string };
  const { version } = await member.call<{ version: number }>("organizer-import", { id, filter: "all", page: 1 });
  return member.call<string>("organizer-import-accept", { id, version, confirmed: "true", ...place });
}
