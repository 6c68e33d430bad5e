import type { CallDescription, ExecDescription, SessionDescription } from "../../history/index.ts";
import { amount, compact, duration, priced } from "../../platform/figures.ts";
import { idEnd } from "../../platform/ids.ts";
import { type Item, item } from "./item.ts";
import { jsonText } from "./json-text.ts";

/** Execs of a session with their sub-calls, and those of the children that answer them, each under what made it. */
export function callTree(session: SessionDescription, execs: readonly ExecDescription[], depth = 0): readonly Item[] {
  const below = Map.groupBy(execs, ({ parent }) => parent);
  const known = new Set(execs.map(({ number }) => number));
  const tops = execs.filter(({ parent }) => parent === null || !known.has(parent));
  // A stack of its own: how deep a stored tree is, its writer decides.
  const waiting = tops.map((exec) => ({ exec, depth })).toReversed();
  const items: Item[] = [];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { exec, depth: at } = next;
    items.push(execItem(exec, at));
    // The request of a turn is the turn itself.
    if (!exec.turn) for (const call of exec.calls) items.push(...callItems(call, at + 1));
    const own = below.get(exec.number) ?? [];
    for (const one of own.toReversed()) waiting.push({ exec: one, depth: at + 1 });
  }
  return items.length > 0 ? items : [item(depth, "quiet", [`nothing ran in session ${idEnd(session.id)}`])];
}

function execItem(exec: ExecDescription, depth: number): Item {
  const { number, kind, status, error_code, input, turn, time_ms, tokens, cost_usd, calls, resumed } = exec;
  const name = turn ? `turn ${turn.number}` : `${number} ${kind}`;
  const facts = [
    ...(!turn && calls.length > 0 ? [amount(calls.length, "call")] : []),
    ...spent(tokens, cost_usd),
    ...(time_ms === null ? [] : [duration(time_ms)]),
    ...(resumed > 0 ? [`resumed ${resumed}x`] : []),
  ].join(" · ");
  return item(depth, STYLES[status], [name, error_code ?? status, facts, turn ? turn.text : input], () =>
    wholeExec(exec),
  );
}

function callItems(call: CallDescription, depth: number): readonly Item[] {
  const { number, name, status, error_code, model, time_ms, tokens, cost_usd, cached, refused, prompt, child } = call;
  const state = refused ? "refused" : cached ? "cached" : (error_code ?? status);
  const facts = [
    ...(model === "" ? [] : [model]),
    ...spent(tokens, cost_usd),
    ...(time_ms === null ? [] : [duration(time_ms)]),
  ].join(" · ");
  const own = item(depth, STYLES[status], [`${number} ${name}`, state, facts, prompt], () => wholeCall(call));
  if (!child) return [own];
  const counts = [
    ...(child.turns === null ? [] : [amount(child.turns, "turn")]),
    ...(child.sub_calls === null ? [] : [amount(child.sub_calls, "sub-call")]),
  ].join(" · ");
  const head = item(depth + 1, "quiet", [`child ${idEnd(child.session)}`, counts]);
  const { description } = child;
  if (!description || depth > DEEPEST) return [own, head];
  return [own, head, ...callTree(description, description.execs, depth + 2)];
}

/** Deeper than children can nest, and shallow enough for a store that claims otherwise. */
const DEEPEST = 24;

const STYLES = { ok: "good", failed: "bad", unfinished: "plain", pending: "plain" } as const;

function spent(tokens: number, cost_usd: number): string[] {
  return tokens > 0 ? [`${compact(tokens)} tokens`, ...priced(cost_usd)] : [];
}

function wholeExec({ source, turn, stdout, stderr, result_json, error, ask }: ExecDescription): string {
  return parts([
    ["asked", turn ? turn.messages.join("\n") : valueText(source)],
    ["said", turn?.text ?? ""],
    ["output", stdout],
    ["errors", stderr],
    ["result", valueText(result_json)],
    ["answer", ask ? valueText(ask.answer) : ""],
    ["error", error ?? ""],
  ]);
}

function wholeCall({ prompt, args, answer, status }: CallDescription): string {
  return parts([
    ["asked", prompt ?? valueText(args)],
    ["options", valueText(args[1] ?? null)],
    [status === "failed" ? "error" : "answered", valueText(answer)],
  ]);
}

/** A value of a store, as text. */
function valueText(value: unknown): string {
  return value === null ? "" : typeof value === "string" ? value : jsonText(value);
}

function parts(all: readonly (readonly [string, string])[]): string {
  return all
    .filter(([, text]) => text !== "")
    .map(([title, text]) => `${title}\n${text}`)
    .join("\n\n");
}
