import type { AgentCommand } from "../../platform/agent-commands.ts";

/** A program that many people have, and what a user should know of its entry. */
interface KnownAgent {
  readonly entry: AgentCommand;
  /** Sentences for the user. */
  readonly notes: readonly string[];
}

/** Keys of other programs are not handed on. @param name of the variable that has the program's usual key */
function keyNote(name: string): string {
  return `it gets no keys of your environment: if it needs one, add "env": ["${name}"] to the entry`;
}

/** Entries of `agents` for programs that many people have, by the names that `--init` takes. */
export const KNOWN_AGENTS = {
  claude: {
    entry: {
      command: ["claude", "-p", "--output-format", "json"],
      with: {
        model: ["--model", "{model}"],
        effort: ["--effort", "{effort}"],
        schema: ["--json-schema", "{schema}"],
        usd: ["--max-budget-usd", "{usd}"],
      },
      output: {
        text: "/result",
        value: "/structured_output",
        failed: "/is_error",
        error: "/errors/0",
        cost_usd: "/total_cost_usd",
        input: "/usage/input_tokens",
        output: "/usage/output_tokens",
        cache_read: "/usage/cache_read_input_tokens",
        cache_write: "/usage/cache_creation_input_tokens",
      },
      limit: "(session|usage|weekly|hour) limit|hit your .{0,40}limit|out of (extra )?usage|credit balance|\\(429\\)",
      max_usd: 0.5,
      timeout_s: 1800,
    },
    notes: [
      'it reads and answers: to let it edit, add "--permission-mode", "acceptEdits" to its command',
      "each agent may cost up to $0.50 (max_usd)",
      keyNote("ANTHROPIC_API_KEY"),
    ],
  },
  codex: {
    entry: {
      command: ["codex", "exec", "--json", "--skip-git-repo-check"],
      with: {
        model: ["--model", "{model}"],
        effort: ["--config", "model_reasoning_effort={effort}"],
        schema: ["--output-schema", "{schema_file}"],
      },
      output: {
        lines: true,
        text: "/item/text",
        error: "/error/message",
        input: "/usage/input_tokens",
        output: "/usage/output_tokens",
      },
      limit: "usage limit|spend cap|status: 429",
      timeout_s: 1800,
    },
    notes: [
      'it reads and answers: to let it edit, add "--sandbox", "workspace-write" to its command',
      "it tells tokens and no dollars: with --max-cost-usd it needs a max_usd of yours",
      keyNote("CODEX_API_KEY"),
    ],
  },
  pi: {
    entry: {
      command: ["pi", "-p", "--no-session"],
      with: { model: ["--model", "{model}"], effort: ["--thinking", "{effort}"] },
      limit: "usage limit|hit your .{0,40}limit|^429",
      timeout_s: 1800,
    },
    notes: [
      'it has bash and may edit: to let it only read, add "--tools", "read,grep,find,ls" to its command',
      "it does not tell what it took: its tokens are not counted, unless --max-tokens limits them (each then counts as 100,000, or max_tokens); with --max-cost-usd it needs a max_usd of yours",
      keyNote("ANTHROPIC_API_KEY"),
    ],
  },
} as const satisfies { readonly [name: string]: KnownAgent };

/** A name that `--init` takes. */
export type KnownName = keyof typeof KNOWN_AGENTS;
