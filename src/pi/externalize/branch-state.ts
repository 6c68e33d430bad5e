import { PI_DEFAULTS, type PiSettings } from "../../settings/index.ts";
import type { PiActions, PiContext } from "../host.ts";
import { type Outside, readOutside } from "./branch.ts";
import { RESERVE_ENTRY, reserveOn } from "./entries.ts";
import { tokensIn } from "./keys.ts";
import type { BranchEntry, PiMessage } from "./message.ts";

import type { Rules } from "./next-request.ts";

export interface BranchState {
  branch(): readonly BranchEntry[];
  seen(): Seen;
  /** @throws RlmError `invalid_config` */
  settings(): OutsideSettings;
  /** By the settings texts go out. @throws RlmError `invalid_config` */
  keeps(): NonNullable<boolean | undefined>;
  /**
   * By what more goes out; null if there is no model whose window could be too small. @throws
   * RlmError `invalid_config`
   */
  rules(): Rules | null;
  /** Tokens of the model's window; null if unknown. */
  window(): number | null;
  /** Tokens that a request may have. */
  room(): number;
  baseOf(messages: readonly PiMessage[]): number;
  /**
   * Pi keeps so many tokens free for an answer: what the branch does not say yet is written there,
   * for later processes.
   */
  reserved(tokens: number): void;
  /** Settings are read again when they are needed next. */
  forget(): void;
}

/** The branch, and what it says of its messages. */
export interface Seen {
  readonly branch: readonly BranchEntry[];
  readonly outside: Outside;
}

/** The user's settings of what goes outside, with their defaults. */
export type OutsideSettings = PiSettings & typeof PI_DEFAULTS;

export interface BranchStateParts {
  context(): PiContext;
  readonly actions: Pick<PiActions, "getActiveTools" | "getAllTools" | "appendEntry">;
  /** Settings in force. @throws RlmError `invalid_config` */
  settings(cwd: string): PiSettings;
  /** Tokens that Pi's settings keep free for an answer of its model; null if they do not say. */
  reserve(): number | null;
}

/** Tokens that Pi keeps free for an answer by no setting. */
const RESERVE = 16_384;

/**
 * The present facts of Pi and the settings, which decide what goes out. Throws if Pi has left the
 * session.
 */
export function openBranchState({ context, actions, settings, reserve }: BranchStateParts): BranchState {
  let known: PiSettings | undefined;
  /** By Pi's settings, for each model. */
  const reserves = new Map<string, number>();
  const held = (): OutsideSettings => {
    known ??= settings(context().cwd);
    return { ...PI_DEFAULTS, ...known };
  };
  const branch = () => context().sessionManager.getBranch();
  const modelName = () => `${context().model?.provider}/${context().model?.id}`;
  function reserved(): number {
    const model = modelName();
    const known = reserveOn(branch(), model);
    if (known !== null) return known;
    const tokens = reserves.get(model) ?? reserve() ?? RESERVE;
    reserves.set(model, tokens);
    return tokens;
  }
  return {
    branch,
    seen() {
      const entries = branch();
      return { branch: entries, outside: readOutside(entries) };
    },
    settings: held,
    keeps: () => held().externalize,
    rules: () => rulesOf(held(), context().model, reserved()),
    window: () => windowOf(context().model),
    room: () => (windowOf(context().model) ?? Number.POSITIVE_INFINITY) - reserved(),
    baseOf: (messages) => baseTokens(messages, context(), actions),
    reserved(tokens) {
      if (reserved() !== tokens) actions.appendEntry(RESERVE_ENTRY, { v: 1, model: modelName(), tokens });
    },
    forget() {
      known = undefined;
      reserves.clear();
    },
  };
}

function windowOf(model: PiContext["model"]): number | null {
  const window = Math.floor(model?.contextWindow ?? 0);
  return Number.isSafeInteger(window) && window > 0 ? window : null;
}

function rulesOf(settings: OutsideSettings, model: PiContext["model"], reserve: number): Rules | null {
  const window = windowOf(model);
  if (!model || window === null) return null;
  const { externalize_at: at, externalize_to: to, externalize_min_tokens: min } = settings;
  const { manifest_tokens: manifest, warm_turns } = settings;
  return { at, to, min, manifest, warm_turns, window, reserve, model };
}

/**
 * Tokens of what goes with the messages, estimated. From Pi 0.87 on a message of the system has all
 * of it.
 */
function baseTokens(
  messages: readonly PiMessage[],
  context: Pick<PiContext, "getSystemPrompt">,
  actions: Pick<BranchStateParts["actions"], "getActiveTools" | "getAllTools">,
): number {
  if (messages.some(({ role }) => role === "system")) return 0;
  const active = actions.getActiveTools();
  const offered = actions.getAllTools().filter(({ name }) => active.includes(name));
  const tools = offered.map(({ name, description, parameters }) => ({ name, description, parameters }));
  return tokensIn(context.getSystemPrompt().length + JSON.stringify(tools).length);
}
