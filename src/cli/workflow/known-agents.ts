import type { AgentCommand } from "../../platform/agent-commands.ts";

/** A program that many people have, and what a user should know of its entry. */
interface KnownAgent {
  readonly entry: AgentCommand;
  /** Sentences for the user. */
  readonly notes: readonly string[];
}

/** Entries of `agents` for programs that many people have, by the names that `--init` takes. */
export const KNOWN_AGENTS = {
  claude: {
    entry: {
      command: ["claude", "-p", "--output-format", "json"],
      with: {
        model: ["--model", "{model}"],
        schema: ["--json-schema", "{schema}"],
        usd: ["--max-budget-usd", "{usd}"],
      },
      output: {
        text: "/result",
        value: "/structured_output",
        failed: "/is_error",
        cost_usd: "/total_cost_usd",
        input: "/usage/input_tokens",
        output: "/usage/output_tokens",
        cache_read: "/usage/cache_read_input_tokens",
        cache_write: "/usage/cache_creation_input_tokens",
      },
      limit: "(session|usage|weekly) limit",
      max_usd: 0.5,
      timeout_s: 1800,
    },
    notes: [
      'it reads and answers: to let it edit, add "--permission-mode", "acceptEdits" to its command',
      "each agent may cost up to $0.50 (max_usd)",
    ],
  },
  codex: {
    entry: {
      command: ["codex", "exec", "--json", "--skip-git-repo-check"],
      with: { model: ["--model", "{model}"], schema: ["--output-schema", "{schema_file}"] },
      output: {
        lines: true,
        text: "/item/text",
        input: "/usage/input_tokens",
        output: "/usage/output_tokens",
      },
      limit: "usage limit",
      timeout_s: 1800,
    },
    notes: [
      'it reads and answers: to let it edit, add "--sandbox", "workspace-write" to its command',
      "it tells tokens and no dollars: with --max-cost-usd it needs a max_usd of yours",
    ],
  },
  pi: {
    entry: {
      command: ["pi", "-p", "--no-session"],
      with: { model: ["--model", "{model}"], effort: ["--thinking", "{effort}"] },
      timeout_s: 1800,
    },
    notes: [
      'it has bash and may edit: to let it only read, add "--tools", "read,grep,find,ls" to its command',
      "it does not tell what it took: each counts as 100,000 tokens (max_tokens), and with --max-cost-usd it needs a max_usd of yours",
    ],
  },
} as const satisfies { readonly [name: string]: KnownAgent };

/** A name that `--init` takes. */
export type KnownName = keyof typeof KNOWN_AGENTS;
