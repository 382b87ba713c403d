// One StarArena of its own: a free port, stores in a temporary folder, the demo as data.

import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

/** Embedded stores are made and the demo is seeded before it listens. */
const START_MS = 90_000;
/** It stops its stores within this time, or is ended. */
const STOP_MS = 20_000;

const dist = resolve(import.meta.dirname, "../../target/dist");

export class Server {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  /** Starts a server; `settings` are environment variables on top of the usual ones. */
  static async start(name: string, settings: Record<string, string> = {}): Promise<Server> {
    const program = process.env.STARARENA_BIN ?? join(dist, "stararena");
    if (!existsSync(program)) throw new Error(`${program} is missing: run the tests by \`make test-pages\``);
    const folder = mkdtempSync(join(tmpdir(), "stararena-pages-"));
    // The stores of a server started by root run as another user, who must be able to pass through.
    chmodSync(folder, 0o755);
    mkdirSync("test-results", { recursive: true });
    const logFile = join("test-results", `server-${name}.log`);
    const log = createWriteStream(logFile);
    const child = spawn(program, ["all", "--demo"], {
      env: {
        LEPTOS_OUTPUT_NAME: "stararena",
        LEPTOS_SITE_ROOT: join(dist, "site"),
        LEPTOS_SITE_PKG_DIR: "pkg",
        LEPTOS_HASH_FILES: "true",
        ...process.env,
        STARARENA_DATA_DIR: folder,
        STARARENA_LISTEN: "127.0.0.1:0",
        // Browsers and server share a machine: late timers are no crowd.
        STARARENA_SHED_LATENESS_MS: "60000",
        ...settings,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stderr?.pipe(log, { end: false });
    try {
      return new Server(await address(child, log), child, folder);
    } catch (error) {
      child.kill("SIGKILL");
      throw new Error(`${String(error)}\n${readFileSync(logFile, "utf8").slice(-4000)}`);
    }
  }

  /** Stops it and removes its folder. */
  async stop(): Promise<void> {
    if (this.child.exitCode === null) {
      const ended = new Promise((done) => this.child.once("exit", done));
      this.child.kill("SIGTERM");
      const timer = setTimeout(() => this.child.kill("SIGKILL"), STOP_MS);
      await ended;
      clearTimeout(timer);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Waits for the line that names the address. */
function address(child: ChildProcess, log: NodeJS.WritableStream): Promise<string> {
  return new Promise((done, failed) => {
    const timer = setTimeout(() => failed(new Error(`no address after ${START_MS} ms`)), START_MS);
    child.once("error", failed);
    child.once("exit", (code) => {
      clearTimeout(timer);
      failed(new Error(`the server ended with ${code} before it listened`));
    });
    // Read to the end, so that the pipe never fills.
    createInterface({ input: child.stdout! }).on("line", (line) => {
      log.write(`${line}\n`);
      const found = /listening on (http:\/\/\S+)/.exec(line)?.[1];
      if (found) {
        clearTimeout(timer);
        done(found.replace(/\/$/, ""));
      }
    });
  });
}
