// Checks licences, bans and sources of all dependencies against deny.toml, for machines without
// cargo-deny: the same answers for the keys used there, from `cargo metadata` alone.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const config = readFileSync("deny.toml", "utf8").replace(/#.*$/gm, "");
const allowed = new Set(strings(config, /\nallow\s*=\s*\[([^\]]*)\]/));
const banned = new Set([...config.matchAll(/\{\s*crate\s*=\s*"([^"]+)"/g)].map((m) => m[1]));
if (allowed.size === 0 || banned.size === 0) fail(["deny.toml: no allowed licences or no bans could be read"]);

const metadata = readMetadata();
const problems = [];
const versions = new Map();
for (const { name, version, license, license_file, source } of metadata.packages) {
  versions.set(name, [...(versions.get(name) ?? []), version]);
  if (banned.has(name)) problems.push(`${name} ${version} is banned in deny.toml`);
  if (source !== null && !source.startsWith("registry+")) {
    problems.push(`${name} ${version} comes from ${source}, not from the crate registry`);
  }
  if (!license) {
    problems.push(`${name} ${version} names no licence${license_file ? `: read ${license_file}` : ""}`);
  } else if (!permits(license)) {
    problems.push(`${name} ${version} has the licence ${license}, which deny.toml does not allow`);
  }
}
const twice = [...versions].filter(([, all]) => all.length > 1);
if (problems.length > 0) fail(problems);
console.log(
  `${metadata.packages.length} packages: licences, bans and sources as deny.toml says; ` +
    `${twice.length} crates in more than one version. Advisories need cargo-deny and its database: not checked.`,
);

function readMetadata() {
  const options = { maxBuffer: 1 << 28, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] };
  try {
    return JSON.parse(execFileSync("cargo", ["metadata", "--format-version", "1", "--locked"], options));
  } catch {
    fail(["cargo metadata failed: its reason is above"]);
  }
}

function strings(text, pattern) {
  const list = text.match(pattern)?.[1] ?? "";
  return [...list.matchAll(/"([^"]+)"/g)].map((m) => m[1]);
}

/** Whether an SPDX expression (or the old "A/B") can be fulfilled with allowed licences. */
function permits(expression) {
  const tokens = expression.replaceAll("/", " OR ").match(/\(|\)|[^\s()]+/g);
  let at = 0;
  const any = () => {
    let result = all();
    while (tokens[at] === "OR") {
      at += 1;
      result = all() || result;
    }
    return result;
  };
  const all = () => {
    let result = one();
    while (tokens[at] === "AND") {
      at += 1;
      result = one() && result;
    }
    return result;
  };
  const one = () => {
    if (tokens[at] === "(") {
      at += 1;
      const result = any();
      at += 1; // ")"
      return result;
    }
    let id = tokens[at++];
    if (tokens[at] === "WITH") {
      id = `${id} WITH ${tokens[at + 1]}`;
      at += 2;
    }
    return allowed.has(id);
  };
  return any();
}

function fail(lines) {
  for (const line of lines) console.error(`error: ${line}`);
  process.exit(1);
}
