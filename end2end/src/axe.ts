// What axe-core finds on a page.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import type { AxeResults } from "axe-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Faults in one line each: rule, element, what is wrong. */
export async function faults(page: Page): Promise<string[]> {
  // By the debugger's way in, which the content policy of the page does not concern.
  await page.evaluate(AXE);
  const results = await page.evaluate<AxeResults>("axe.run(document, { resultTypes: ['violations'] })");
  return results.violations.flatMap((rule) =>
    rule.nodes.map((node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary?.replaceAll("\n", " ")}`),
  );
}
