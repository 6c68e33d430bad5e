import { readFile, writeFile } from "node:fs/promises";
import { seededRandom } from "../../tests/support/seeded-random.ts";

// A model of random weights in the format GGUF. It keeps a real tokenizer and takes any chat template: what it says is noise, and
// everything around it is real.

const EMBEDDING = 64;
const HEADS = 4;
const FEED_FORWARD = 128;

/** Types of GGUF's values, by its specification. */
const TYPES = { uint32: 4, float32: 6, string: 8, array: 9 } as const;

/** Bytes of a value of each type that has a fixed size. */
const SIZES: Readonly<Record<number, number>> = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };

/** What a model of random weights is made of. */
interface TinyModel {
  /** The path of a GGUF file whose tokenizer is kept. */
  readonly vocabulary: string;
  /** The chat template. */
  readonly template: string;
  /** Tokens that it is said to be trained for. */
  readonly context: number;
}

/** Writes a llama of one layer with random weights. */
export async function writeTinyModel(path: string, { vocabulary, template, context }: TinyModel): Promise<void> {
  const { kept, tokens } = tokenizerIn(await readFile(vocabulary));
  const facts = [
    textFact("general.architecture", "llama"),
    textFact("general.name", "tiny random"),
    countFact("llama.context_length", context),
    countFact("llama.embedding_length", EMBEDDING),
    countFact("llama.block_count", 1),
    countFact("llama.feed_forward_length", FEED_FORWARD),
    countFact("llama.attention.head_count", HEADS),
    countFact("llama.attention.head_count_kv", HEADS),
    countFact("llama.rope.dimension_count", EMBEDDING / HEADS),
    countFact("llama.vocab_size", tokens),
    fact("llama.attention.layer_norm_rms_epsilon", TYPES.float32, float32(1e-5)),
    textFact("tokenizer.chat_template", template),
  ];
  const { infos, data, count } = weights(tokens);
  const header = [Buffer.from("GGUF"), uint32(3), uint64(count), uint64(kept.length + facts.length)];
  const head = Buffer.concat([...header, ...kept, ...facts, ...infos]);
  await writeFile(path, Buffer.concat([head, Buffer.alloc(padding(head.length)), ...data]));
}

/** The facts about the tokenizer in a GGUF file, without its template, and the number of its tokens. */
function tokenizerIn(bytes: Buffer): { readonly kept: readonly Buffer[]; readonly tokens: number } {
  let at = 8;
  const next32 = () => {
    at += 4;
    return bytes.readUInt32LE(at - 4);
  };
  const next64 = () => {
    at += 8;
    return Number(bytes.readBigUInt64LE(at - 8));
  };
  const pass = (type: number): void => {
    const size = SIZES[type];
    if (size !== undefined) at += size;
    else if (type === TYPES.string) passText();
    else passArray();
  };
  const passText = () => {
    const length = next64();
    at += length;
  };
  const passArray = () => {
    const type = next32();
    const count = next64();
    for (let index = 0; index < count; index += 1) pass(type);
  };
  next64();
  const facts = next64();
  const kept: Buffer[] = [];
  let tokens = 0;
  for (let index = 0; index < facts; index += 1) {
    const start = at;
    const length = next64();
    const key = bytes.toString("utf8", at, at + length);
    at += length;
    const type = next32();
    if (key === "tokenizer.ggml.tokens") tokens = Number(bytes.readBigUInt64LE(at + 4));
    pass(type);
    if (key.startsWith("tokenizer.") && key !== "tokenizer.chat_template") kept.push(bytes.subarray(start, at));
  }
  return { kept, tokens };
}

interface Weights {
  readonly infos: readonly Buffer[];
  readonly data: readonly Buffer[];
  readonly count: number;
}

function weights(tokens: number): Weights {
  const random = seededRandom(1);
  const block = (name: string) => `blk.0.${name}.weight`;
  const tensors: readonly (readonly [name: string, sizes: readonly number[]])[] = [
    ["token_embd.weight", [EMBEDDING, tokens]],
    ["output_norm.weight", [EMBEDDING]],
    ["output.weight", [EMBEDDING, tokens]],
    [block("attn_norm"), [EMBEDDING]],
    ...["attn_q", "attn_k", "attn_v", "attn_output"].map((name): readonly [string, readonly number[]] => [
      block(name),
      [EMBEDDING, EMBEDDING],
    ]),
    [block("ffn_norm"), [EMBEDDING]],
    [block("ffn_gate"), [EMBEDDING, FEED_FORWARD]],
    [block("ffn_up"), [EMBEDDING, FEED_FORWARD]],
    [block("ffn_down"), [FEED_FORWARD, EMBEDDING]],
  ];
  const infos: Buffer[] = [];
  const data: Buffer[] = [];
  let offset = 0;
  for (const [name, sizes] of tensors) {
    const isNorm = sizes.length === 1;
    const count = sizes.reduce((product, size) => product * size, 1);
    const values = Float32Array.from({ length: count }, () => (isNorm ? 1 : (random() - 0.5) * 0.4));
    const bytes = Buffer.from(values.buffer);
    infos.push(Buffer.concat([text(name), uint32(sizes.length), ...sizes.map(uint64), uint32(0), uint64(offset)]));
    data.push(bytes, Buffer.alloc(padding(bytes.length)));
    offset += bytes.length + padding(bytes.length);
  }
  return { infos, data, count: tensors.length };
}

/** Bytes up to the next multiple of GGUF's alignment. */
function padding(length: number): number {
  return (32 - (length % 32)) % 32;
}

function fact(key: string, type: number, value: Buffer): Buffer {
  return Buffer.concat([text(key), uint32(type), value]);
}

function textFact(key: string, value: string): Buffer {
  return fact(key, TYPES.string, text(value));
}

function countFact(key: string, value: number): Buffer {
  return fact(key, TYPES.uint32, uint32(value));
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint64(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}
