import {
  type CallDescription,
  callsSeen,
  type ExecDescription,
  type SessionDescription,
  type WalkedCall,
  type WalkedExec,
  type WalkedSession,
  walk,
} from "../../history/index.ts";
import { amount, compact, duration, priced } from "../../platform/figures.ts";
import { idEnd } from "../../platform/ids.ts";
import { type Item, item } from "./item.ts";
import { jsonText } from "./json-text.ts";

/** Execs of a session with their sub-calls, and those of the children that answer them, each under what made it. */
export function callTree(session: SessionDescription, execs: readonly ExecDescription[], depth: number): Item[] {
  const indentOf = (step: WalkedSession | WalkedExec | WalkedCall): number => {
    if (step.is === "exec") return indentOf(step.in) + step.level;
    if (step.is === "call") return indentOf(step.of) + 1;
    return step.call ? indentOf(step.call) + 2 : depth;
  };
  const shown = (one: SessionDescription) => (one === session ? execs : one.execs);
  const items: Item[] = [];
  for (const step of walk(session, { execs: shown, calls: ({ exec }) => callsSeen(exec) })) {
    if (step.is === "exec") items.push(execItem(step.exec, indentOf(step)));
    else if (step.is === "call") items.push(...callItems(step.call, indentOf(step)));
    else if (step.is === "session" && shown(step.session).length === 0)
      items.push(item(indentOf(step), "quiet", [`nothing ran in session ${idEnd(step.session.id)}`]));
  }
  return items;
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
  return [own, item(depth + 1, "quiet", [`child ${idEnd(child.session)}`, counts])];
}

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
