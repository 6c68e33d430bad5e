import { LIMITS } from "../../runtime/index.ts";
import { loadSubCallLayer } from "../model/index.ts";
import type { Store } from "../store/index.ts";
import type { DryRun, ExecOptions } from "./api.ts";
import type { Env } from "./env.ts";
import { runExec } from "./exec/run-exec.ts";
import { openGuest } from "./machine/guest.ts";
import { envelopeOf } from "./outcomes.ts";
import type { Setup } from "./setup.ts";
import { type DryRunModel, openDryAnswers } from "./sub-calls/dry-answers.ts";
import { planSubCall } from "./sub-calls/plan.ts";

/** Runs the cell on another machine at the same checkpoint. Its journal, answers and state are thrown away. */
export async function dryRun(
  setup: Setup,
  source: string,
  { limits = {}, name, signal, history }: ExecOptions,
): Promise<DryRun> {
  const answers = await placeholders(setup);
  const store: Store = { ...setup.env.store, commit: async () => {}, putContext: async () => {} };
  const env: Env = { ...setup.env, store, emit: (event) => event.kind === "notice" && setup.env.emit(event) };
  const guest = openGuest({ ...setup.guestOptions, env });
  try {
    const scratch: Setup = { ...setup, env, guest, answers, moved() {} };
    const request = { kind: "cell", source, limits, sites: true } as const;
    const asked = { ...(signal ? { signal } : {}), ...(history ? { history } : {}) };
    const outcome = await runExec(scratch, request, asked);
    const envelope = envelopeOf(setup, outcome, name);
    return { envelope, estimate: answers.estimate(!envelope.success) };
  } finally {
    await guest[Symbol.asyncDispose]();
  }
}

async function placeholders({ answers, env, policy, granted, loading, options }: Setup) {
  const { estimateSubCall, placeholderAnswer, readOnlyTools, taskThread } = await loadSubCallLayer();
  const { models } = env;
  const { approve, ...allowed } = options.subAgents ?? {};
  const planning = {
    models,
    // The user is not asked to approve calls that are not sent.
    policy: { ...allowed, ...(approve ? { approve: async () => true } : {}) },
    limitsCost: policy.budget.max_cost_usd !== null,
  };
  const tools = [...readOnlyTools({ roots: granted.roots, cwd: loading.cwd }), ...(allowed.tools ?? [])];
  const maxTurns = allowed.maxTurns ?? LIMITS.subAgentTurns;
  const model: DryRunModel = {
    plan: (request) => planSubCall(planning, request, answers.thinking ?? "off"),
    estimate: (call) => estimateSubCall(call, { models, tools, maxTurns }),
    placeholder: async (call, stop) => ({ ok: true, value: await placeholderAnswer(call, taskThread(), stop) }),
  };
  return openDryAnswers(model, { depth_left: answers.facts.depth_left ?? 0 });
}
