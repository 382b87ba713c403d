// One server for all specs; its address reaches the workers by environment. STARARENA_URL names a
// running one instead.

import { Server } from "./server";

export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.STARARENA_URL) return undefined;
  const server = await Server.start("shared");
  process.env.STARARENA_URL = server.url;
  return () => server.stop();
}
