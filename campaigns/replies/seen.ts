import type { Json } from "../../runtime/index.ts";
import { type Asked, fieldOf } from "./server.ts";

/** Everything that was seen when a case was played. */
export interface Seen {
  readonly value: Json;
  /** The code of the failure; null: there is a value. */
  readonly fails: string | null;
  /** The message and the cure of the failure, or what a command printed. */
  readonly says: string;
  readonly retriable?: boolean | undefined;
  readonly resumable?: boolean | undefined;
  readonly warnings: readonly string[];
  readonly asked: readonly Asked[];
  /** The code of the cells of an ask. */
  readonly cells?: readonly string[];
  readonly by?: string | undefined;
  readonly hits?: number;
  readonly exit?: number;
  readonly done?: number;
  readonly failed?: number;
  /** What the model was told last, for doors without a server. */
  readonly told?: string;
}

/** The texts of a request by who said them, in its order. */
interface SaidText {
  readonly isModel: boolean;
  readonly text: string;
}

const LISTS = { chat: "messages", responses: "input", anthropic: "messages", gemini: "contents" } as const;
const OF_MODEL = new Set(["assistant", "model"]);
const CALLS = new Set(["function_call", "reasoning"]);

/** What a request tells the model after the last words of the model itself. */
export function toldIn({ api, body }: Asked): string {
  const said = saidIn(fieldOf(body, LISTS[api]));
  const last = said.findLastIndex(({ isModel }) => isModel);
  return said
    .slice(last + 1)
    .map(({ text }) => text)
    .join("\n");
}

/** All texts of a request in a row: what a cache of beginnings compares. */
export function allTextOf({ api, body }: Asked): string {
  const system = ["system", "instructions", "systemInstruction"].map((name) => textIn(fieldOf(body, name))).join("");
  return (
    system +
    saidIn(fieldOf(body, LISTS[api]))
      .map(({ text }) => text)
      .join("\n")
  );
}

function saidIn(list: Json | undefined): readonly SaidText[] {
  if (!Array.isArray(list)) return [];
  return list.map((message) => {
    const isModel = OF_MODEL.has(String(fieldOf(message, "role"))) || CALLS.has(String(fieldOf(message, "type")));
    const text = ["content", "parts", "output"].map((name) => textIn(fieldOf(message, name))).join("");
    return { isModel, text };
  });
}

/** The texts of a content: a text, or parts that have one. */
function textIn(content: Json | undefined): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(textIn).join("");
  if (typeof content !== "object" || content === null) return "";
  return ["text", "content", "parts", "output", "functionResponse", "response", "result", "error"]
    .map((name) => textIn(fieldOf(content, name)))
    .join("");
}
