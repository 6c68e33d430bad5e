import { oneOf } from "../shared/example.ts";

const VERBS = ["open", "close", "book", "split", "review", "settle", "merge", "price", "list", "move", "send", "hold"];
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
const FUNCTIONS_A_FILE = 4;
const HANDLERS = 240;
const GUARDED = 0.9;

interface Function {
  readonly name: string;
  readonly writes: boolean;
  readonly source: string;
}

/** A code base with handlers over functions of billing, and the handlers that write without asking who calls. */
export function codeBase(random: () => number): {
  readonly files: Readonly<Record<string, string>>;
  readonly unguarded: readonly string[];
} {
  const billing: Function[] = [];
  for (const name of VERBS.flatMap((verb) => NOUNS.map((noun) => `${verb}${noun}`))) {
    billing.push(billingFunction(name, billing, random));
  }
  const handlers = Array.from({ length: HANDLERS }, (_, index) => {
    const called = oneOf(billing, random);
    const isGuarded = random() < GUARDED;
    const guard = isGuarded ? '  requireRole(request, "clerk");\n' : "";
    const name = `handle${index + 1}`;
    const source = `export async function ${name}(request: Request) {\n${guard}  return await ${called.name}(request.body);\n}\n`;
    return { name, isUnguarded: called.writes && !isGuarded, source };
  });
  return {
    files: {
      ...filesOf("src/billing/part", billing),
      ...filesOf("src/api/routes", handlers),
      "src/guard.ts":
        'export function requireRole(request: Request, role: string) {\n  if (request.role !== role) throw new Error("not allowed");\n}\n',
      "README.md":
        "# Ledger\n\nHandlers in src/api call functions in src/billing. `requireRole` guards what changes something.\n",
    },
    unguarded: handlers.filter(({ isUnguarded }) => isUnguarded).map(({ name }) => name),
  };
}

/** Reads, writes, or leaves it to a function that is there already. */
function billingFunction(name: string, earlier: readonly Function[], random: () => number): Function {
  const kind = random();
  const head = `export async function ${name}(input: Input) {\n  audit.note("${name} was called");\n`;
  if (kind < 0.4 || earlier.length === 0) {
    return { name, writes: false, source: `${head}  return await db.read("${name}", input.id);\n}\n` };
  }
  if (kind < 0.6) return { name, writes: true, source: `${head}  return await db.write("${name}", input);\n}\n` };
  const called = oneOf(earlier, random);
  return { name, writes: called.writes, source: `${head}  return await ${called.name}(input);\n}\n` };
}

function filesOf(path: string, functions: readonly { readonly source: string }[]): Record<string, string> {
  const files: Record<string, string> = {};
  for (let at = 0; at < functions.length; at += FUNCTIONS_A_FILE) {
    const sources = functions.slice(at, at + FUNCTIONS_A_FILE).map(({ source }) => source);
    files[`${path}-${at / FUNCTIONS_A_FILE + 1}.ts`] = sources.join("\n");
  }
  return files;
}
