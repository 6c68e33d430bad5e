import type { TextObject } from "../context/index.ts";
import { nameOf, objectNamed, QUOTED_BYTES } from "./conversation.ts";
import { defineConversationTool } from "./define.ts";

const LENGTH = 2000;

export const rlm_peek = defineConversationTool({
  name: "rlm_peek",
  label: "RLM peek",
  description: "Read an object of this conversation or P by id, as in rlm-obj-a1b2c3.",
  promptSnippet: "Read an object by its id",
  parameters: {
    type: "object",
    required: ["id"],
    properties: {
      id: { type: "string" },
      offset: { type: "integer", minimum: 0 },
      length: { type: "integer", minimum: 1, default: LENGTH },
    },
  },
  answersText: true,
  async run(conversation, { id, offset = 0, length = LENGTH }) {
    return { text: sliceOf(await objectNamed(await conversation.objects(), id), offset, length) };
  },
  failureFields: {},
});

/**
 * A line of facts, then the characters. Whoever reads on at the next offset gets every character
 * once, and whole.
 */
function sliceOf(object: TextObject, offset: number, length: number): string {
  const { document, context } = object;
  const { size } = document;
  const read = (start: number, end: number) => context.text.slice(document.start + start, document.start + end);
  const isCut = (at: number) => at > 0 && at < size && /^[\ud800-\udbff][\udc00-\udfff]/.test(read(at - 1, at + 1));
  const asked = Math.min(offset, size);
  const from = isCut(asked) ? asked - 1 : asked;
  const last = Math.min(from + Math.min(length, QUOTED_BYTES), size);
  const text = read(from, isCut(last) ? last + 1 : last);
  const shown = text.slice(0, unitsWithin(text, QUOTED_BYTES));
  const end = from + shown.length;
  const facts = [object.id, nameOf(object), `characters ${from} to ${end} of ${size}`];
  return `${[...facts, ...(end < size ? [`next offset ${end}`] : [])].join(" · ")}\n${shown}`;
}

/**
 * The number of UTF-16 units of a text that take at most so many bytes of UTF-8. A surrogate pair
 * counts whole.
 */
function unitsWithin(text: string, maxBytes: number): number {
  let bytes = 0;
  let units = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    units += character.length;
  }
  return units;
}
