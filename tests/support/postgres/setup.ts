import { createServer } from "node:net";
import type { TestProject } from "vitest/node";
import { type Cluster, startCluster } from "./cluster.ts";

/**
 * Vitest calls it before the tests. Whoever connects to the port that it provides is told the URL of a PostgreSQL server, which
 * the first one has started. All tests of a run share it.
 */
export default async function offerPostgres({ provide }: TestProject): Promise<() => Promise<void>> {
  let cluster: Promise<Cluster> | null = null;
  const offer = createServer((asking) => {
    cluster ??= startCluster();
    cluster.then(
      ({ url }) => asking.end(url),
      (error: unknown) => asking.end(`failed: ${error}`),
    );
  });
  await new Promise<void>((resolve) => offer.listen(0, "127.0.0.1", resolve));
  offer.unref();
  const address = offer.address();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  provide("postgresPort", address.port);
  return async () => {
    offer.close();
    await (await cluster)?.[Symbol.asyncDispose]();
  };
}

declare module "vitest" {
  interface ProvidedContext {
    readonly postgresPort: number;
  }
}
