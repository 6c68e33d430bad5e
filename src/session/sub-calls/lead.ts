import type { SubCallRequest } from "../../../builtins/index.ts";
import { type Clock, LIMITS } from "../../../runtime/index.ts";
import { knownModel, type Models } from "../../models/index.ts";
import { joinSignals } from "../../platform/signals.ts";
import { sleep } from "../../platform/sleep.ts";

/** Calls under way that begin with the same text. */
interface Fan {
  /** The text that all of them begin with: system prompt and prompt. */
  beginning: string;
  calls: number;
  /** Aborts when the answer of the call that went ahead begins, or when that call has ended. null: none has gone. */
  ahead: AbortSignal | null;
}

/** One call of a fan. It leaves the fan when it is disposed of. */
export interface Led extends Disposable {
  /** Resolves when the call may be sent: at once for the first and for one that is alone. The signal ends the wait. */
  turn(signal: AbortSignal): Promise<void>;
  /** UTF-16 units of the prompt that the others begin with too. undefined: there are no others, or they have another system prompt. */
  shared(): number | undefined;
  /** The answer of the call begins. */
  begun(): void;
}

/**
 * Lets one of several calls with a long beginning in common go ahead. The others are sent when its answer begins: from then on
 * the provider has the beginning in its cache. They wait for a bounded time, and no longer than that call lasts.
 */
export function openLeads(models: Models, clock: Clock): (request: SubCallRequest) => Led | undefined {
  const fans = new Map<string, Fan>();
  return ({ prompt, system = "", model = null, tools, schema }) => {
    const text = `${system}\n${prompt}`;
    if (text.length < LIMITS.leadUnits || !knownModel(models, model)?.caches) return undefined;
    const key = JSON.stringify([model, tools, schema, text.slice(0, LIMITS.leadUnits)]);
    const fan = fans.get(key) ?? { beginning: text, calls: 0, ahead: null };
    const beginning = commonBeginning(fan.beginning, text);
    // What the call ahead has written to the cache can be read only as it was.
    if (fan.ahead !== null && beginning !== fan.beginning) return undefined;
    fan.beginning = beginning;
    fan.calls += 1;
    fans.set(key, fan);
    const own = new AbortController();
    return {
      async turn(signal) {
        if (fan.calls < 2) return;
        if (fan.ahead === null) {
          fan.ahead = own.signal;
          return;
        }
        using either = joinSignals(signal, fan.ahead);
        await sleep(clock, LIMITS.leadMs, either.signal);
      },
      shared() {
        const units = fan.beginning.length - system.length - 1;
        return fan.calls < 2 || units < 0 ? undefined : units;
      },
      begun: () => own.abort(),
      [Symbol.dispose]() {
        own.abort();
        fan.calls -= 1;
        if (fan.calls === 0) fans.delete(key);
      },
    };
  };
}

/** The text that both begin with. No character is cut in two. */
function commonBeginning(one: string, other: string): string {
  if (other.startsWith(one)) return one;
  let units = 0;
  while (one.charCodeAt(units) === other.charCodeAt(units)) units += 1;
  const isHalf = /[\uD800-\uDBFF]/.test(one.charAt(units - 1));
  return one.slice(0, isHalf ? units - 1 : units);
}
