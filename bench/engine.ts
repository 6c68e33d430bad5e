import { readFile } from "node:fs/promises";
import { getQuickJS, newQuickJSWASMModule } from "quickjs-emscripten";
import { QuickJS } from "quickjs-wasi";
import { type Contestant, takeTurns, timed } from "./measure.ts";
import type { Case, Report } from "./report.ts";
import { size } from "./size.ts";

const MB = 2 ** 20;
const MEMORY_LIMIT_MB = size(64, 1);
const HOST_CALLS = size(2000, 2);
/** Each program is an expression whose value is a number. */
const PROGRAMS: readonly (readonly [name: string, source: string])[] = [
  ["fib(24)", "(function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); })(24)"],
  [
    "a loop of 1,000,000 turns",
    "(() => { let sum = 0; for (let i = 0; i < 1e6; i++) sum = (sum + i * 7) % 1000003; return sum; })()",
  ],
  ["sorting 50,000 numbers", "Array.from({ length: 50000 }, (_, i) => (i * 7919) % 100003).sort((a, b) => a - b)[7]"],
  ["splitting 1.2 MB", `"alpha beta gamma delta ".repeat(52000).split(" ").length`],
  ["a RegExp over 0.5 MB", `("x".repeat(100) + " needle42 ").repeat(5000).match(/needle\\d+/g).length`],
  [
    "JSON, 1 MB there and back",
    `JSON.parse(JSON.stringify(Array.from({ length: 20000 }, (_, i) => ({ id: i, name: "n" + i, tags: ["a", "b"] })))).length`,
  ],
];

/** The engine against quickjs-emscripten: opening, restoring, running, calling the host, and holding a memory limit. */
export async function benchEngine(): Promise<Report> {
  const wasm = await WebAssembly.compile(await readFile(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm"))));
  return {
    title: "engine: quickjs-wasi against quickjs-emscripten, in one thread",
    cases: [await opening(wasm), ...(await running(wasm))],
    notes: [
      "restore opens an image of a guest whose cell awaits. quickjs-emscripten has no function that takes or opens an image.",
      "quickjs-wasi instantiates a module that is compiled already. quickjs-emscripten gets a memory of its own here; a new context in an instance that is there shares the memory with other guests.",
      `Linear memory after a guest has filled its heap up to a limit of ${MEMORY_LIMIT_MB} MB: ${await filled(wasm)}.`,
    ],
    aims: [],
  };
}

async function opening(wasm: WebAssembly.Module): Promise<Case> {
  using waiting = await QuickJS.create(wasm);
  waiting
    .evalCode(
      "var answer = 0; var pending = new Promise((resolve) => { globalThis.settle = resolve; }).then((value) => { answer = value; });",
    )
    .dispose();
  const image = waiting.snapshot();
  const contestants: Contestant[] = [
    {
      name: "quickjs-wasi create",
      once: () =>
        timed(async () => {
          using vm = await QuickJS.create(wasm);
          expectNumber(vm.evalCode("1+1").toNumber(), 2);
        }),
    },
    {
      name: "quickjs-wasi restore",
      once: () =>
        timed(async () => {
          using vm = await QuickJS.restore(image, wasm);
          vm.evalCode("settle(2)").dispose();
          vm.executePendingJobs();
          expectNumber(vm.evalCode("answer").toNumber(), 2);
        }),
    },
    {
      name: "quickjs-emscripten instance",
      once: () =>
        timed(async () => {
          using context = (await newQuickJSWASMModule()).newContext();
          expectNumber(context.unwrapResult(context.evalCode("1+1")).consume(context.getNumber), 2);
        }),
    },
  ];
  return { name: "open", measured: await takeTurns(contestants, { rounds: 30, warmups: 5 }) };
}

/** Both guests are kept, so that a sample is the program alone. */
async function running(wasm: WebAssembly.Module): Promise<Case[]> {
  using vm = await QuickJS.create(wasm);
  using context = (await getQuickJS()).newContext();
  using ours = vm.newFunction("host", (value) => vm.newNumber((value?.toNumber() ?? 0) + 1));
  vm.setProp(vm.global, "host", ours);
  using theirs = context.newFunction("host", (value) => context.newNumber(context.getNumber(value) + 1));
  context.setProp(context.global, "host", theirs);
  const calls = `(() => { let n = 0; while (n < ${HOST_CALLS}) n = host(n); return n; })()`;
  const cases: Case[] = [];
  for (const [name, source] of [
    ...PROGRAMS.slice(0, size(PROGRAMS.length, 1)),
    [`${HOST_CALLS.toLocaleString("en-US")} calls of the host`, calls] as const,
  ]) {
    const values: number[] = [];
    const contestants: Contestant[] = [
      {
        name: "quickjs-wasi",
        once: () => timed(() => values.push(vm.evalCode(source).consume((value) => value.toNumber()))),
      },
      {
        name: "quickjs-emscripten",
        once: () => timed(() => values.push(context.unwrapResult(context.evalCode(source)).consume(context.getNumber))),
      },
    ];
    cases.push({ name, measured: await takeTurns(contestants, { rounds: 15, warmups: 5 }) });
    for (const value of values) expectNumber(value, values[0] ?? Number.NaN);
  }
  return cases;
}

/** What each engine's linear memory has grown to when the guest is out of memory. */
async function filled(wasm: WebAssembly.Module): Promise<string> {
  const program = "const kept = []; for (;;) kept.push(new Array(1e5).fill(1.5));";
  using vm = await QuickJS.create({ wasm, memoryLimit: MEMORY_LIMIT_MB * MB });
  expectOutOfMemory(() => vm.evalCode(program));
  const peer = await newQuickJSWASMModule();
  const runtime = peer.newRuntime();
  runtime.setMemoryLimit(MEMORY_LIMIT_MB * MB);
  const context = runtime.newContext();
  expectOutOfMemory(() => context.unwrapResult(context.evalCode(program)));
  const mb = (memory: WebAssembly.Memory) => `${(memory.buffer.byteLength / MB).toFixed(0)} MB`;
  return `quickjs-wasi ${mb(vm._getExports().memory)}, quickjs-emscripten ${mb(peer.getWasmMemory())}`;
}

function expectOutOfMemory(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (error instanceof Error && /out of memory/.test(error.message)) return;
    throw error;
  }
  throw new Error("the guest ended although it should have filled its memory");
}

/** What fails quickly must not win. */
function expectNumber(value: number, expected: number): void {
  if (value !== expected) throw new Error(`an engine answered ${value} and not ${expected}`);
}
