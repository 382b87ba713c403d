// What members of an organizer do on their pages, by roles and test ids, and their way in by the API.

import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { expect, type Locator, type Page } from "@playwright/test";
import { Fan } from "./fan";

/** Password of all demo accounts. */
export const DEMO_PASSWORD = "stararena-demo";

/** A venue file as its makers publish it, with 126 faults of its own. */
export const STADIUM = resolve(import.meta.dirname, "../../app/domain/tests/fixtures/pretix-seatmap-canvas-stadium.json");

/** A picture of three by four pixels. */
export const PICTURE = {
  name: "poster.png",
  mimeType: "image/png",
  buffer: Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAAECAIAAADETxJQAAAALUlEQVR42g3GQQEAAAQEQXGE2PcluRBCCCGEgMxrIilRpiJp" +
      "0aZ/I8bMb8WaPfRgDSGle21TAAAAAElFTkSuQmCC",
    "base64",
  ),
};

/** Members of the demo's organizers; `other` works for another house than the rest. */
export type Who = "organizer" | "operator" | "finance" | "risk" | "door" | "other";

export const emailOf = (who: Who): string => `${who}@demo.example`;

/** A member's account in a page. */
export class Member extends Fan {
  override readonly email: string;

  constructor(page: Page, url: string, who: Who) {
    super(page, url);
    this.email = emailOf(who);
  }

  /** Signs in by the API. */
  static async of(page: Page, url: string, who: Who): Promise<Member> {
    const member = new Member(page, url, who);
    await member.call("sign-in", { email: member.email, password: DEMO_PASSWORD });
    return member;
  }

  /** Uploads a plan by the API; returns the upload. */
  async upload(file: string): Promise<string> {
    const response = await this.page.context().request.post(`${this.url}/api/organizer-plan-upload`, {
      multipart: { file: { name: basename(file), mimeType: "application/json", buffer: readFileSync(file) } },
      headers: { origin: this.url, accept: "application/json" },
    });
    expect(response.status(), await response.text()).toBe(200);
    return ((await response.json()) as { id: string }).id;
  }
}

/** Signs in by the page. */
export async function signIn(page: Page, who: Who): Promise<void> {
  await page.goto("/sign-in");
  await page.getByLabel("E-mail").fill(emailOf(who));
  await page.getByLabel("Password").fill(DEMO_PASSWORD);
  await page.getByRole("main").getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByTestId("who")).toHaveText(emailOf(who));
}

/** The way between the parts. */
export const tabs = (page: Page): Locator => page.getByRole("navigation", { name: "Organizer" }).getByRole("link");

export async function openTab(page: Page, name: string): Promise<void> {
  await tabs(page).filter({ hasText: name }).click();
  await expect(tabs(page).filter({ hasText: name })).toHaveAttribute("aria-current", "page");
}

/** Chooses a file and sends it; lands on what its check found. */
export async function uploadPlan(page: Page, file: string): Promise<void> {
  await page.getByTestId("plan-file").setInputFiles(file);
  await page.getByTestId("plan-upload").click();
  await page.waitForURL(/\/organizer\/imports\/[0-9a-f-]+$/);
}

/** Has the file of this page checked once more, with repairs. */
export async function repair(page: Page): Promise<void> {
  await page.getByTestId("mode-tolerant").check();
  await page.getByTestId("check-again").click();
  await expect(page.getByTestId("import-state")).toHaveAttribute("data-state", "ready");
}

/** Says which venue the file is of. */
export async function fillPlace(page: Page, venue: string, city: string, zone: string): Promise<void> {
  await page.getByTestId("venue").fill(venue);
  await page.getByTestId("city").fill(city);
  await page.getByTestId("time-zone").fill(zone);
}

/** Makes a plan of the file; returns its id. */
export async function acceptPlan(page: Page): Promise<string> {
  await page.getByTestId("confirmed").check();
  await page.getByTestId("accept").click();
  await page.waitForURL(/\/organizer\/plans\/[0-9a-f-]+$/);
  return basename(new URL(page.url()).pathname);
}

/** Writes a new event, and lands on it. */
export async function createEvent(page: Page, title: string, artist: string): Promise<void> {
  await page.getByTestId("new-event").click();
  await page.waitForURL("**/organizer/events/new");
  await page.getByLabel("Title", { exact: true }).fill(title);
  await page.getByLabel("Who plays").fill(artist);
  await page.getByLabel("What it is about").fill("One evening.\n\nDoors open at seven.");
  await page.getByRole("button", { name: "Create event" }).click();
  await page.waitForURL(/\/organizer\/events\/[0-9a-f-]{36}\?saved=1$/);
  await expect(page.getByTestId("saved")).toBeVisible();
}

/** Begins a performance of the event; returns its id. */
export async function newPerformance(page: Page): Promise<string> {
  await page.getByTestId("new-performance").click();
  await page.waitForURL(/\/organizer\/performances\/[0-9a-f-]+$/);
  return basename(new URL(page.url()).pathname);
}

export interface DraftFields {
  /** The plan as its option says it. */
  plan: string;
  starts: string;
  opens: string;
  closes: string;
  seatLimit?: number;
}

/** Fills the form of a performance in the making, and sends it. */
export async function saveDraft(page: Page, fields: DraftFields): Promise<void> {
  await page.getByLabel("Venue plan").selectOption({ label: fields.plan });
  await page.getByLabel("Begins").fill(fields.starts);
  await page.getByLabel("Sale opens").fill(fields.opens);
  await page.getByLabel("Sale ends").fill(fields.closes);
  await page.getByLabel("Currency").selectOption("EUR");
  await page.getByLabel("Most seats for one account").fill(String(fields.seatLimit ?? 6));
  await page.getByLabel("Minutes that seats are held").fill("15");
  await page.getByLabel("Most shoppers inside at once").fill("200");
  await page.getByLabel("Places let in a minute").fill("6000");
  await page.getByTestId("save-draft").click();
}

/** What the checklist says is missing. */
export async function missing(page: Page): Promise<string[]> {
  const checks = page.getByTestId("check");
  await expect(checks.first()).toBeVisible();
  return checks.evaluateAll((items) =>
    items
      .filter((item) => item.getAttribute("data-state") === "missing")
      .map((item) => item.getAttribute("data-item") ?? ""),
  );
}

/** Fills the prices of the zones in their order, and saves them. */
export async function savePrices(page: Page, prices: string[]): Promise<void> {
  const fields = page.getByTestId("price");
  await expect(fields).toHaveCount(prices.length);
  for (const [at, price] of prices.entries()) await fields.nth(at).fill(price);
  await page.getByTestId("save-prices").click();
}

/** Publishes, in its two steps. */
export async function publish(page: Page): Promise<void> {
  await page.getByTestId("publish").click();
  await page.getByTestId("publish-now").click();
  await expect(page.getByTestId("published")).toBeVisible();
}

/** Does what a control of the desk does, and confirms it. */
export async function steer(page: Page, control: "open" | "pause" | "resume" | "close", phase: string): Promise<void> {
  await page.getByTestId(`desk-${control}`).click();
  await expect(page.getByTestId("desk-dialog")).toBeVisible();
  await page.getByTestId("desk-confirm").click();
  await expect(page.getByTestId("desk-phase")).toHaveAttribute("data-phase", phase);
}

/** A local time so many days ahead. */
export function daysAhead(days: number, time: string): string {
  return `${new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)}T${time}`;
}

/** A local time that the clocks of Berlin skip: in the night of the last Sunday of next March. */
export function skippedInBerlin(): string {
  const today = new Date();
  const lastSunday = (year: number) => {
    const last = new Date(Date.UTC(year, 2, 31));
    last.setUTCDate(31 - last.getUTCDay());
    return last;
  };
  const day = [today.getUTCFullYear(), today.getUTCFullYear() + 1].map(lastSunday).find((night) => night > today)!;
  return `${day.toISOString().slice(0, 10)}T02:30`;
}
