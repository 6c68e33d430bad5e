import type { Suite } from "./items.ts";
import { numbersBelow, oneOf } from "./words.ts";

const VERBS = ["open", "close", "book", "split", "review", "settle", "merge", "price", "list", "move", "send", "keep"];
const NOUNS = [
  "Invoice",
  "Refund",
  "Deposit",
  "Discount",
  "Transfer",
  "Credit",
  "Receipt",
  "Fee",
  "Contract",
  "Voucher",
];

/** Functions of billing for each handler, characters of one, functions of a file, and files at the most. */
const [PER_HANDLER, FUNCTION_UNITS, PER_FILE, FILES] = [2, 130, 4, 4_000];
/** Handlers that write without a guard: so many at every size. */
const UNGUARDED = 8;

/** A code base with handlers over functions, and the handlers that write without asking who calls. */
export const code: Suite = {
  about: "handlers of a code base that write, through other functions, without a guard",
  score: "f1",
  make(random, units) {
    const amount = Math.max(60, Math.floor(units / FUNCTION_UNITS));
    const handlers = Math.floor(amount / (PER_HANDLER + 1));
    const billing: { readonly name: string; readonly writes: boolean; readonly source: string }[] = [];
    for (let at = 0; at < amount - handlers; at++) billing.push(billingFunction(at, billing, random));
    const calls = Array.from({ length: handlers }, () => oneOf(billing, random));
    const writing = calls.flatMap(({ writes }, at) => (writes ? [at] : []));
    const open = new Set(numbersBelow(writing.length, UNGUARDED, random).map((at) => writing[at] ?? 0));
    const sources = calls.map(({ name, writes }, at) => {
      const isGuarded = writes ? !open.has(at) : random() < 0.5;
      const guard = isGuarded ? '  requireRole(request, "clerk");\n' : "";
      return `export async function handle${at + 1}(request: Request) {\n${guard}  return await ${name}(request.body);\n}\n`;
    });
    const expected = sources.flatMap((_, at) => (open.has(at) ? [`handle${at + 1}`] : []));
    const files = new Map([
      ...filesOf("src/api/routes", sources),
      ...filesOf(
        "src/billing/part",
        billing.map(({ source }) => source),
      ),
      [
        "src/guard.ts",
        'export function requireRole(request: Request, role: string) {\n  if (request.role !== role) throw new Error("not allowed");\n}\n',
      ] as const,
    ]);
    const question =
      "Handlers in src/api call functions in src/billing. A function writes if it calls db.write, or calls a function that writes. Which handlers write without calling requireRole? Answer with their names alone, separated by commas.";
    return { question, expected, files };
  },
};

/** Reads, writes, or leaves it to a function that is there already. */
function billingFunction(
  at: number,
  earlier: readonly { readonly name: string; readonly writes: boolean }[],
  random: () => number,
) {
  const name = `${oneOf(VERBS, random)}${oneOf(NOUNS, random)}${at + 1}`;
  const kind = random();
  const called = kind < 0.6 || earlier.length === 0 ? null : oneOf(earlier, random);
  const writes = called?.writes ?? kind < 0.25;
  const does = called
    ? `${called.name}(input)`
    : writes
      ? `db.write("${name}", input)`
      : `db.read("${name}", input.id)`;
  return {
    name,
    writes,
    source: `export async function ${name}(input: Input) {\n  audit.note("${name}");\n  return await ${does};\n}\n`,
  };
}

function filesOf(path: string, sources: readonly string[]): (readonly [string, string])[] {
  const perFile = Math.max(PER_FILE, Math.ceil(sources.length / FILES));
  return Array.from({ length: Math.ceil(sources.length / perFile) }, (_, at) => [
    `${path}-${at + 1}.ts`,
    sources.slice(at * perFile, (at + 1) * perFile).join("\n"),
  ]);
}
