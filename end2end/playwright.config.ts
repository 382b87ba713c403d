import { defineConfig } from "@playwright/test";
import { DESKTOP, PHONE, launch } from "./src/browser";

// Specs say in their names which browsers they are for: `*.nojs.spec.ts` alone runs without JavaScript.
export default defineConfig({
  testDir: "specs",
  outputDir: "test-results",
  globalSetup: "./src/global-setup.ts",
  // The browsers share two cores with the server and its stores.
  workers: 2,
  fullyParallel: false,
  forbidOnly: Boolean(process.env.CI),
  // A test that passes at the second try has found something.
  retries: 0,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  use: {
    launchOptions: launch,
    locale: "en-GB",
    timezoneId: "America/New_York",
    trace: "retain-on-failure",
    screenshot: "only-on-failure",
    actionTimeout: 10_000,
    navigationTimeout: 20_000,
  },
  projects: [
    { name: "desktop", testIgnore: /nojs/, use: { viewport: DESKTOP } },
    { name: "phone", testMatch: /(purchase|a11y|i18n)\.spec/, use: { viewport: PHONE, hasTouch: true, isMobile: true } },
    { name: "no-js", testMatch: /nojs\.spec/, use: { viewport: PHONE, javaScriptEnabled: false } },
  ],
});
