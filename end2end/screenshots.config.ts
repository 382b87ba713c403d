import { defineConfig } from "@playwright/test";
import { launch } from "./src/browser";

export default defineConfig({
  testDir: "pictures",
  outputDir: "test-results/pictures",
  globalSetup: "./src/global-setup.ts",
  workers: 1,
  timeout: 300_000,
  expect: { timeout: 15_000 },
  reporter: [["list"]],
  use: { launchOptions: launch, locale: "en-GB", timezoneId: "America/New_York", actionTimeout: 15_000 },
});
