import type { Session } from "../../src/index.ts";

/** The context over which the examples of the reference run: three documents of a small project. */
const SAMPLE: readonly { name: string; text: string }[] = [
  {
    name: "AGENTS.md",
    text: `# Route map

- [Server](src/server.ts) — requests and responses
- [Testing](docs/testing.md) — how the tests are run and what they cover
`,
  },
  {
    name: "src/server.ts",
    text: `// TODO: close idle connections
export function handleRequest(path: string): Response {
  if (path === "/health") return ok("up");
  // Error handling is the caller's. FIXME: log what was asked for
  throw new HttpError(404, path);
}
`,
  },
  { name: "docs/testing.md", text: "Run `npm test`. Every route of the server has a test of its own.\n" },
];

/** Loads the sample into a session. */
export async function loadSample(session: Session): Promise<void> {
  const [first, ...rest] = SAMPLE;
  if (first) await session.load(first);
  for (const document of rest) await session.loadAppend(document);
}
