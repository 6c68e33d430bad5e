import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { ROOT } from "../../scripts/process.ts";

test("compose.yaml is a service with a database for workers, which demands a password and is on loopback alone", () => {
  const { services, volumes } = parse(readFileSync(join(ROOT, "docs/compose.yaml"), "utf8"));
  expect(Object.keys(services)).toEqual(["postgres"]);
  const { image, environment, ports, volumes: mounted, healthcheck } = services.postgres;
  expect(image).toBe("postgres:18");
  expect(environment).toEqual({
    POSTGRES_USER: "belay",
    POSTGRES_DB: "belay",
    POSTGRES_PASSWORD: expect.stringMatching(/^\$\{BELAY_DB_PASSWORD:\?.+\}$/),
  });
  expect(ports).toEqual(["127.0.0.1:5432:5432"]);
  // From version 18 on the image keeps its data in a folder below this one.
  expect(mounted).toEqual(["belay-postgres:/var/lib/postgresql"]);
  expect(Object.keys(volumes)).toEqual(["belay-postgres"]);
  expect(healthcheck.test).toEqual(["CMD-SHELL", "pg_isready -U belay -d belay"]);
});
