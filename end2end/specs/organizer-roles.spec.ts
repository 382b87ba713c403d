// Each role sees and does its own; another house and fans find nothing.

import type { Page } from "@playwright/test";
import { Member, signIn, tabs, type Who } from "../src/organizer";
import { expect, test } from "../src/test";

const CONTROLS = ["open", "pause", "resume", "close", "rate", "maximum"].map((word) => `desk-${word}`);

interface Role {
  who: Who;
  name: string;
  tabs: string[];
  /** Pages that exist, but not for this role. */
  barred: string[];
  desk: boolean;
}

const ROLES: Role[] = [
  {
    who: "finance",
    name: "Finance",
    tabs: ["Events", "Orders", "Money", "Settings", "Audit log"],
    barred: ["/organizer/plans", "/organizer/members", "/organizer/settings"],
    desk: true,
  },
  {
    who: "risk",
    name: "Risk",
    tabs: ["Events", "Orders"],
    barred: ["/organizer/plans", "/organizer/money", "/organizer/settings", "/organizer/members", "/organizer/audit"],
    desk: true,
  },
  {
    who: "door",
    name: "Door",
    tabs: ["Events"],
    barred: ["/organizer/plans", "/organizer/orders", "/organizer/money", "/organizer/members", "/organizer/audit"],
    desk: false,
  },
];

for (const role of ROLES) {
  test(`${role.who} sees its own parts and changes nothing`, async ({ page, baseURL }) => {
    await signIn(page, role.who);
    await page.getByTestId("organizer-link").click();
    await expect(page.getByTestId("role")).toHaveText(role.name);
    await expect(tabs(page)).toHaveText(role.tabs);
    await expect(page.getByTestId("organizer-event").first()).toBeVisible();
    await expect(page.getByTestId("new-event")).toHaveCount(0);

    const { id } = await new Member(page, baseURL!, role.who).openPerformance();
    const performance = `/organizer/performances/${id}`;
    await page.goto(performance);
    await expect(page.getByTestId("published")).toBeVisible();
    await expect(page.getByTestId("to-desk")).toHaveCount(role.desk ? 1 : 0);
    await page.goto(`${performance}/prices`);
    await expect(page.getByTestId("read-only")).toBeVisible();
    for (const control of ["price", "preview-prices", "seats-form"]) await expect(page.getByTestId(control)).toHaveCount(0);

    const desk = await page.goto(`${performance}/desk`);
    expect(desk!.status()).toBe(role.desk ? 200 : 403);
    if (role.desk) await expect(page.getByTestId("desk-sold")).toBeVisible();
    for (const control of CONTROLS) await expect(page.getByTestId(control)).toHaveCount(0);

    for (const path of role.barred) {
      const response = await page.goto(path);
      expect(response!.status(), path).toBe(403);
      await expect(page.getByTestId("barred")).toContainText(`Yours is: ${role.name}`);
    }
  });
}

test("an operator runs sales and has no say over members", async ({ page, baseURL }) => {
  await signIn(page, "operator");
  await page.goto("/organizer");
  await expect(page.getByTestId("role")).toHaveText("Operator");
  await expect(tabs(page)).toHaveText(["Events", "Venue plans", "Orders", "Money"]);
  const { id } = await new Member(page, baseURL!, "operator").openPerformance();
  await page.goto(`/organizer/performances/${id}/desk`);
  for (const control of ["desk-pause", "desk-close"]) await expect(page.getByTestId(control)).toBeVisible();
  for (const path of ["/organizer/members", "/organizer/settings", "/organizer/settings/details", "/organizer/audit"]) {
    expect((await page.goto(path))!.status(), path).toBe(403);
  }
});

/** Nothing of what is asked for can be told from what never existed. */
async function expectNothing(page: Page, paths: string[]): Promise<void> {
  for (const path of paths) {
    const response = await page.goto(path);
    expect(response!.status(), path).toBe(404);
    await expect(page.getByRole("heading", { name: "Nothing here" })).toBeVisible();
  }
}

test("another house finds nothing of the first one's", async ({ page, baseURL }) => {
  await signIn(page, "other");
  const other = new Member(page, baseURL!, "other");
  const { id } = await other.openPerformance();
  await page.goto("/organizer");
  await expect(page.getByTestId("organization")).toHaveText("Other Promoter");
  await expect(page.getByTestId("organizer-event")).toHaveCount(0);
  const performance = `/organizer/performances/${id}`;
  await expectNothing(page, [performance, `${performance}/prices`, `${performance}/desk`]);
  for (const endpoint of ["organizer-sale-pause", "organizer-sale-desk"]) {
    expect((await other.ask(endpoint, { performance: id })).status, endpoint).toBe(404);
  }
});

test("a fan sees no way to the organizer's half, and nothing in it", async ({ page, fan }) => {
  const { id } = await fan.openPerformance();
  await page.goto("/");
  await expect(page.getByTestId("who")).toHaveText(fan.email);
  await expect(page.getByTestId("organizer-link")).toHaveCount(0);
  const whole = ["", "/plans", "/orders", "/money", "/settings", "/members", "/audit"];
  const parts = [...whole, `/performances/${id}`, `/performances/${id}/desk`];
  await expectNothing(page, parts.map((part) => `/organizer${part}`));
});
