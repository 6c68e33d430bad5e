import * as v from "valibot";
import type { BatchApi } from "../port.ts";

const text = v.nullish(v.string());
const piece = v.looseObject({ type: text, text, thinking: text, signature: text, name: text, arguments: text });
const chatMessage = v.looseObject({
  content: text,
  tool_calls: v.nullish(v.array(v.looseObject({ function: piece }))),
});
const geminiPart = v.looseObject({ text, functionCall: v.optional(v.looseObject({ name: v.string() })) });
const geminiContent = v.looseObject({ parts: v.nullish(v.array(geminiPart)) });

/**
 * As much of an answer as pi-ai and the stream need. It is a server's text, and is handed on as it
 * is.
 */
const CHAT = v.looseObject({ choices: v.array(v.looseObject({ message: chatMessage })) });
const RESPONSE = v.looseObject({ status: v.string(), output: v.array(piece) });
const MESSAGE = v.looseObject({ content: v.array(piece), usage: v.looseObject({}) });
const GEMINI = v.union([
  v.looseObject({ candidates: v.array(v.looseObject({ content: v.nullish(geminiContent) })) }),
  v.looseObject({ promptFeedback: v.looseObject({}) }),
]);

/**
 * The whole answer to a request as the server-sent events of a streamed one.
 * @throws Error for an answer of another form
 */
export function asStream(api: BatchApi, answer: unknown): string {
  switch (api) {
    case "openai-completions": {
      v.assert(CHAT, answer);
      const { choices, ...rest } = answer;
      const chunks = choices.slice(0, 1).flatMap(({ message: { content, tool_calls, ...thinking }, ...choice }) => {
        const uses = tool_calls?.map((use, index) => ({ index, ...use }));
        // pi-ai begins its parts in this order, which is that of a stream.
        const deltas = [thinking, { content }, ...(uses ? [{ tool_calls: uses }] : [])];
        return deltas.map((delta) => ({ ...rest, choices: [{ ...choice, delta }] }));
      });
      return `${chunks.map(untyped).join("")}data: [DONE]\n\n`;
    }
    case "openai-responses": {
      v.assert(RESPONSE, answer);
      const items = answer.output.flatMap((item, output_index) => [
        { type: "response.output_item.added", output_index, item },
        { type: "response.output_item.done", output_index, item },
      ]);
      const end = ["incomplete", "failed"].find((status) => status === answer.status) ?? "completed";
      const created = { type: "response.created", response: answer };
      return [created, ...items, { type: `response.${end}`, response: answer }].map(typed).join("");
    }
    case "anthropic-messages": {
      v.assert(MESSAGE, answer);
      const { content, stop_reason, stop_sequence, stop_details, ...rest } = answer;
      const start = { ...rest, content: [], stop_reason: null, stop_sequence: null };
      const blocks = content.flatMap((block, index) => [
        { type: "content_block_start", index, content_block: { ...block, ...BLANK } },
        ...deltasOf(block).map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index },
      ]);
      const end = { type: "message_delta", delta: { stop_reason, stop_sequence, stop_details }, usage: rest.usage };
      return [{ type: "message_start", message: start }, ...blocks, end, { type: "message_stop" }].map(typed).join("");
    }
    case "google-generative-ai":
      v.assert(GEMINI, answer);
      return untyped(answer);
  }
}

/** Fields of a block that its deltas bring. */
const BLANK = { text: "", thinking: "", signature: "", input: {} };

function deltasOf({ type, text, thinking, signature, input }: v.InferInput<typeof piece>): object[] {
  if (type === "text") return [{ type: "text_delta", text: text ?? "" }];
  if (type === "tool_use") return [{ type: "input_json_delta", partial_json: JSON.stringify(input ?? {}) }];
  if (type !== "thinking") return [];
  return [
    { type: "thinking_delta", thinking: thinking ?? "" },
    { type: "signature_delta", signature: signature ?? "" },
  ];
}

const untyped = (event: object) => `data: ${JSON.stringify(event)}\n\n`;
const typed = (event: { readonly type: string }) => `event: ${event.type}\n${untyped(event)}`;
