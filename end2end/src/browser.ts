// How the browser is started, for tests and pictures alike.

import { existsSync } from "node:fs";
import type { LaunchOptions } from "@playwright/test";

const PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** The browser of the system, without its own traffic to the outside. */
export const launch: LaunchOptions = {
  executablePath: process.env.CHROMIUM ?? PLACES.find((place) => existsSync(place)),
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
};

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };
