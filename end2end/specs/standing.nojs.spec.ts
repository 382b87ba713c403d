// Places to stand without JavaScript: one number field for each area.

import { expect, test } from "../src/test";

test("two places of a standing area are held from the list without JavaScript", async ({ fan, page }) => {
  const { id, area } = await fan.standingPerformance();
  await fan.enter(id);
  await page.goto(`/performances/${id}/list?section=${area.section}`);
  const line = page.locator(`[data-testid="area"][data-area="${area.area}"]`);
  await expect(line).toBeVisible();
  const field = line.getByRole("spinbutton");
  await expect(field).toHaveAccessibleName(`Standing in ${area.name}: how many places?`);
  await field.fill("2");
  await page.getByTestId("hold").click();
  await page.waitForURL(/\/orders\/[0-9a-f-]+/);
  const held = await fan.call<{ order: string; seats: number[] }>("my-hold", { performance: id });
  expect(held.seats).toHaveLength(2);
  await fan.call("hold-release", { order: held.order });
});
