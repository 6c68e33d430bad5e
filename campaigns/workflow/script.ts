import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import type { Json } from "../../runtime/index.ts";

/** What a round of the campaign asks of its agents. */
export interface RoundPlan {
  /** Agents that are asked side by side. */
  readonly found: readonly string[];
  /** Each goes through three agents, one after the other; the last of them answers with a value. */
  readonly chains: readonly string[];
  /** How long each agent takes, s, by its name. */
  readonly seconds: Readonly<Record<string, number>>;
}

/** What a run ended with. Null stands for an agent that gave no answer. */
export interface RoundResult {
  readonly found: readonly (string | null)[];
  readonly checked: readonly ({ readonly said: string } | null)[];
}

const STAGES = 3;

/** The script of a round, in the format of workflows. */
const SCRIPT = `export const meta = {
  name: "campaign",
  description: "agents that are killed",
  phases: [{ title: "Find" }, { title: "Check" }],
};
const schema = { type: "object", required: ["said"], properties: { said: { type: "string" } } };
const ask = (name, rest, more = {}) => agent(\`\${name} \${args.seconds[name]} \${rest}\`, { label: name, ...more });
const [found, checked] = await Promise.all([
  parallel(args.found.map((name) => () => ask(name, "-", { phase: "Find" }))),
  pipeline(
    args.chains,
    (name) => ask(\`\${name}.1\`, "-", { phase: "Check" }),
    (before, name) => ask(\`\${name}.2\`, before, { phase: "Check" }),
    (before, name) => ask(\`\${name}.3\`, before, { phase: "Check", schema }),
  ),
]);
return { found, checked };
`;

/** A round with so many agents side by side, and so many chains, of which every other one needs a repair. */
export function planOf(found: number, chains: number, random: () => number): RoundPlan {
  const names = Array.from({ length: found }, (_, n) => `f${n}`);
  const heads = Array.from({ length: chains }, (_, n) => `${n % 2 === 0 ? "m" : "c"}${n}`);
  const all = [...names, ...heads.flatMap((head) => stagesOf(head))];
  const seconds = Object.fromEntries(all.map((name) => [name, Math.round(30 + random() * 500) / 1000]));
  return { found: names, chains: heads, seconds };
}

const stagesOf = (head: string) => Array.from({ length: STAGES }, (_, n) => `${head}.${n + 1}`);

/** How many agents are started if nobody is killed. */
export function agentsOf({ found, chains }: RoundPlan): number {
  const repaired = chains.filter((head) => head.startsWith("m")).length;
  return found.length + chains.length * STAGES + repaired;
}

/** Where a round has its files. */
export interface RoundFiles {
  readonly place: string;
  readonly home: string;
  /** Agents note their starts and ends there. */
  readonly log: string;
}

/** Writes the script, its args and the user's configuration. @param safe an agent of which nobody knows is started again */
export function writeRound(place: string, plan: RoundPlan, safe: boolean): RoundFiles {
  const home = join(place, "home");
  const log = join(place, "agents.log");
  mkdirSync(home, { recursive: true });
  writeFileSync(log, "");
  writeFileSync(join(place, "work.js"), SCRIPT);
  writeFileSync(join(place, "args.json"), JSON.stringify(plan));
  const fake = {
    command: ["sh", fileURLToPath(new URL("../../tests/support/agents/agent.sh", import.meta.url)), log],
    output: {
      text: "/result",
      value: "/value",
      input: "/usage/input",
      output: "/usage/output",
    },
    at_once: 8,
    timeout_s: 60,
    ...(safe ? { retry: "safe" } : {}),
  };
  writeFileSync(join(home, "config.json"), JSON.stringify({ agents: { fake } }));
  return { place, home, log };
}

/**
 * Finds what is wrong with the result of a round: a line each.
 *
 * @param killed names of agents that were killed, whose answer may be missing
 */
export function wrongAnswers(
  plan: RoundPlan,
  result: Json | undefined,
  killed: ReadonlySet<string>,
): readonly string[] {
  const wrong: string[] = [];
  const { found, checked } = partsOf(result);
  const judge = (name: string, got: string | null | undefined, expected: readonly string[]) => {
    if (got === null && killed.has(name)) return;
    if (got === null || got === undefined) wrong.push(`the answer of ${name} is lost`);
    else if (!expected.includes(got)) wrong.push(`${name} answered ${got} instead of ${expected.join(" or ")}`);
  };
  for (const [at, name] of plan.found.entries()) judge(name, found[at], [`${name}(-)`]);
  for (const [at, head] of plan.chains.entries()) {
    let before = ["-"];
    for (const name of stagesOf(head)) {
      const answers = before.map((rest) => `${name}(${rest})`);
      before = killed.has(name) ? [...answers, "null"] : answers;
    }
    const last = `${head}.${STAGES}`;
    const answer = checked[at];
    judge(last, answer?.said ?? null, before);
  }
  return wrong;
}

/** Both lists of a result; empty ones if it has none. */
function partsOf(result: Json | undefined): RoundResult {
  const parsed = v.safeParse(Result, result);
  return parsed.success ? parsed.output : { found: [], checked: [] };
}

const Result = v.object({
  found: v.array(v.nullable(v.string())),
  checked: v.array(v.nullable(v.object({ said: v.string() }))),
});
