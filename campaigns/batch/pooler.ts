import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Client } from "pg";
import { freePort } from "../../tests/support/postgres/cluster.ts";

/** PgBouncer before a server. Each transaction gets any of its connections. */
export interface Pooler extends AsyncDisposable {
  readonly url: string;
}

/** The user gets the settings that the pooler drops: docs/postgres.md says which. @throws Error if PgBouncer is not installed */
export async function startPooler(serverUrl: string): Promise<Pooler> {
  await giveSettings(serverUrl);
  const url = new URL(serverUrl);
  const [host, port] = [url.hostname, url.port];
  url.port = String(await freePort());
  const folder = mkdtempSync(join(tmpdir(), "belay-pooler-"));
  const [config, users] = [join(folder, "pgbouncer.ini"), join(folder, "users.txt")];
  writeFileSync(users, `"${url.username}" ""\n`, { mode: 0o644 });
  writeFileSync(
    config,
    `[databases]
* = host=${host} port=${port}
[pgbouncer]
listen_addr = ${url.hostname}
listen_port = ${url.port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
ignore_startup_parameters = options,extra_float_digits
`,
  );
  // It refuses root.
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = spawn("pgbouncer", ["-q", ...user, config], { stdio: ["ignore", "ignore", "ignore"] });
  await listening(child, url);
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      child.kill("SIGINT");
      await once(child, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function giveSettings(serverUrl: string): Promise<void> {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  await client.query("ALTER ROLE CURRENT_USER SET search_path = belay");
  await client.end();
}

async function listening(child: ChildProcess, { hostname, port }: URL): Promise<void> {
  let failed: Error | null = null;
  child.once("error", (error) => {
    failed = error;
  });
  child.once("exit", (code) => {
    failed ??= new Error(`pgbouncer ended with ${code}`);
  });
  for (;;) {
    if (failed) throw failed;
    const socket = connect(Number(port), hostname);
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await setTimeout(50);
  }
}
