import { createServer } from "node:net";
import type { TestProject } from "vitest/node";
import { type Cluster, startCluster } from "./cluster.ts";

declare global {
  var belayCluster: Promise<Cluster> | undefined;
}

/**
 * Vitest calls it before the tests of each project. Whoever connects to the port that it provides is told the URL of a
 * PostgreSQL server, which the first one has started. All tests of a run share it.
 */
export default async function offerPostgres({ provide }: TestProject): Promise<() => Promise<void>> {
  const offer = createServer((asking) => {
    globalThis.belayCluster ??= startCluster();
    globalThis.belayCluster.then(
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
    await (await globalThis.belayCluster)?.[Symbol.asyncDispose]();
  };
}

declare module "vitest" {
  interface ProvidedContext {
    readonly postgresPort: number;
  }
}
