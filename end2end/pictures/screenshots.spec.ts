// Pictures of every page: desktop and phone, light and dark, in target/screenshots. No assertions: they
// are for eyes.

import { test } from "@playwright/test";
import { DESKTOP, PHONE } from "../src/browser";
import { Fan } from "../src/fan";
import { Member } from "../src/organizer";
import { fanStops, organizerStops, publicStops } from "../src/tour";

const FOLDER = "../target/screenshots";

for (const [device, viewport] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
  for (const lang of ["en-GB", "zh-CN"]) {
    test(`${device}, ${lang}`, async ({ browser }) => {
      const phone = device === "phone";
      const open = () => browser.newContext({ viewport, locale: lang, isMobile: phone, hasTouch: phone, deviceScaleFactor: 2 });
      const url = process.env.STARARENA_URL!;
      const [guest, buyer, other, house] = await Promise.all([open(), open(), open(), open()]);
      const fan = new Fan(await buyer.newPage(), url);
      const friend = new Fan(await other.newPage(), url);
      for (const account of [fan, friend]) await account.join();
      const owner = await Member.of(await house.newPage(), url, "organizer");
      // The friend's order: one account may have so many seats, and the fan's own tour takes some.
      const houseStops = await organizerStops(owner, friend);
      const page = await guest.newPage();
      const rounds = [
        { page, stops: await publicStops(fan) },
        { page: fan.page, stops: await fanStops(fan, friend) },
        { page: owner.page, stops: houseStops },
      ];
      for (const { page, stops } of rounds) {
        for (const stop of stops) {
          for (const colorScheme of ["light", "dark"] as const) {
            await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
            await page.goto(`${url}${stop.path}`);
            await stop.ready?.(page);
            await page.evaluate(() => document.fonts.ready);
            const path = `${FOLDER}/${stop.name}-${device}-${colorScheme}-${lang.slice(0, 2)}.png`;
            await page.screenshot({ path, fullPage: !stop.path.includes("/seats") });
          }
        }
      }
      await Promise.all([guest.close(), buyer.close(), other.close(), house.close()]);
    });
  }
}
