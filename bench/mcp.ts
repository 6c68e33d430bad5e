import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { openSession } from "../src/index.ts";
import { listedTools } from "../src/mcp/listed-tools.ts";
import { buildCommand } from "./built.ts";
import type { Corpus } from "./corpus.ts";
import { type Contestant, median, takeTurns, timed } from "./measure.ts";
import type { Aim, Report } from "./report.ts";
import { size } from "./size.ts";

/** The most that a client may have to put into every conversation, tokens. */
const MOST_TOKENS_OF_CORE = 1_750;

/** A server as a client starts it, its tools, and a small cell over its pipes. */
export async function benchMcp({ folder }: Corpus): Promise<Report> {
  const built = await buildCommand("bench/mcp-bare");
  const { main, home } = built;
  const server = await connected([main, "mcp", "--store", join(home, "mcp"), "--root", folder]);
  await using session = await openSession({ roots: [folder], cwd: folder, store: join(home, "own"), session: "own" });
  await Promise.all([called(server, "rlm_load", { path: folder }), session.load(folder)]);
  const start = await takeTurns(
    [
      // In the smallest form the server of the calls has been started in this way.
      ...size([listing("belay mcp", [main, "mcp", "--store", join(home, "list")])], []),
      listing("a bare server of the SDK", [join(built.folder, "bench/mcp-bare.js")]),
    ],
    { rounds: 15, warmups: 2 },
  );
  const exec = await takeTurns(
    [
      { name: "rlm_exec over pipes", once: () => timed(() => called(server, "rlm_exec", { code: "1+1" })) },
      { name: "session.exec in the process", once: () => timed(() => session.exec("1+1")) },
    ],
    { rounds: 200, warmups: 20 },
  );
  await server.close();
  const [piped = Number.NaN, own = Number.NaN] = exec.map(({ samples }) => median(samples));
  return {
    title: "mcp: from a server's start to its tools, and `1+1` from the call to its answer",
    cases: [
      { name: "start to tools/list", measured: start },
      { name: "1+1", measured: exec },
    ],
    notes: [
      "Servers run from a bundle, as they are installed. Both sessions keep what they do in a store on disk.",
      `The pipes, the protocol and the client take ${(piped - own).toFixed(1)} ms of an exec.`,
    ],
    aims: [...tokenAims()],
  };
}

async function connected(args: readonly string[]): Promise<Client> {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [...args], stderr: "ignore" }));
  return client;
}

/** From the start of a process to the answer that lists its tools. */
function listing(name: string, args: readonly string[]): Contestant {
  return {
    name,
    async once() {
      const from = performance.now();
      const client = await connected(args);
      await client.listTools();
      const ms = performance.now() - from;
      await client.close();
      return ms;
    },
  };
}

/** Calls a tool, and fails if it fails: what fails quickly must not win. */
async function called(client: Client, name: string, args: Record<string, string>): Promise<void> {
  const { content, isError } = await client.callTool({ name, arguments: args });
  if (isError) throw new Error(`${name} failed: ${JSON.stringify(content)}`);
}

/** What a client puts into every conversation, at four characters a token. */
function tokenAims(): Aim[] {
  const [core = 0, all = 0] = (["core", "all"] as const).map((set) => {
    const shown = listedTools(set).map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    return Math.ceil(JSON.stringify(shown).length / 4);
  });
  const text = `core tools ≤ ${MOST_TOKENS_OF_CORE} tokens`;
  return [{ text, value: `${core}, with --tools all ${all}`, met: core <= MOST_TOKENS_OF_CORE }];
}
