// The `test` of all specs: the address of the shared server, a fan in the page, and more fans in
// browser contexts of their own. A page that reports an error of its own fails its test.

import { test as base, expect, type Browser, type Page } from "@playwright/test";
import { Fan } from "./fan";

export { expect };

interface Fixtures {
  /** An account that is signed in and confirmed, in `page`. */
  fan: Fan;
  /** Makes another such account, in a context of its own. */
  another: () => Promise<Fan>;
}

export const test = base.extend<Fixtures>({
  baseURL: async ({}, use) => {
    const url = process.env.STARARENA_URL;
    if (!url) throw new Error("STARARENA_URL is not set: the global setup has not run");
    await use(url);
  },
  page: async ({ page }, use) => {
    const errors = watch(page);
    await use(page);
    expect(errors, "errors of the page itself").toEqual([]);
  },
  fan: async ({ page, baseURL }, use) => {
    const fan = new Fan(page, baseURL!);
    await fan.join();
    await use(fan);
  },
  another: async ({ browser, baseURL, viewport }, use) => {
    const opened: Page[] = [];
    await use(async () => {
      const page = await newPage(browser, viewport);
      opened.push(page);
      const fan = new Fan(page, baseURL!);
      await fan.join();
      return fan;
    });
    for (const page of opened) await page.context().close();
  },
});

async function newPage(browser: Browser, viewport: { width: number; height: number } | null): Promise<Page> {
  const context = await browser.newContext({ locale: "en-GB", ...(viewport ? { viewport } : {}) });
  return context.newPage();
}

/** Collects exceptions, and what the console calls an error: a broken hydration, a refused script or
 * style. Answers with a refusal are part of the game, and the browser reports each as an error. */
export function watch(page: Page): string[] {
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !text.startsWith("Failed to load resource")) errors.push(text);
  });
  return errors;
}
