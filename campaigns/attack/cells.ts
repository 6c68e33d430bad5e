import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Attack } from "./attack.ts";
import { TEXT } from "./guest.ts";

/** Hostile cells by how they end, and by what they attack. `any`: with success or one of the codes. */
const CELLS = {
  ok: {
    "tamper: patched primordials before builtins": `Array.prototype.push = () => { throw 1 }; Array.prototype[Symbol.iterator] = function* () { throw 2 };
     JSON.stringify = () => "{}"; JSON.parse = () => ({ hacked: 1 }); Object.keys = () => []; Reflect.ownKeys = () => [];
     Map.prototype.get = Map.prototype.set = () => "hacked"; String.prototype.slice = () => "hacked";
     memory.put("k", { a: [1, 2] }); result = [memory.get("k"), peek(0, 5), find("TODO").matches]`,
    "tamper: builtins cannot be replaced": `for (const k of ["P", "peek", "find", "memory", "console", "result"]) {
     try { globalThis[k] = () => "HACK" } catch {} try { delete globalThis[k] } catch {}
     try { Object.defineProperty(globalThis, k, { value: () => "HACK" }) } catch {} }
     result = [peek(0, 5), typeof P, typeof memory.put]`,
    "tamper: no constructor reaches the host": `[peek, find, search, print, memory.put].map((f) => f.constructor.constructor("return typeof process + typeof require('x')"))
     .map((f) => { try { return f() } catch (e) { return e.code } })`,
    "output: a flood of lines": "for (let i = 0; i < 2e4; i++) console.log('line ' + i); 'done'",
    "arguments: odd numbers":
      "[NaN, Infinity, -1, -0, 2 ** 31, 2 ** 53, 1e308, 0.5, '10', null, undefined, [], {}, true, 10n].map((v) => { try { return typeof peek(v, v) } catch (e) { return e.code } })",
    "jobs: rejections by the thousand": "for (let i = 0; i < 1e4; i++) Promise.reject(new Error('r' + i)); 1",
    "host: the surface of globalThis":
      "['process', 'require', 'Buffer', 'WebAssembly', 'fetch', 'setTimeout', 'std', 'os', 'bjson'].filter((k) => { try { return typeof globalThis[k] === 'object' } catch { return true } })",
  },
  any: {
    "tamper: Object.prototype setters and getters": `for (const k of ["id", "error", "name", "code", "get", "set", "toJSON", "length"])
     try { Object.defineProperty(Object.prototype, k, { get() { throw new Error("trap " + k) }, set() {}, configurable: true }) } catch {}
     peek(0, 5)`,
    "tamper: stack formatting":
      "Error.prepareStackTrace = (e, frames) => frames; Error.stackTraceLimit = 1e9; peek(null)",
    "result: a proxy with endless keys":
      "new Proxy({}, { ownKeys: () => Array.from({ length: 1e6 }, (_, i) => 'k' + i), getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }) })",
    "result: a proxy that lies about its length": "new Proxy([], { get: (t, k) => (k === 'length' ? 1e9 : 1) })",
    "result: a thenable of thenables": "const t = { then(r) { r(t) } }; t",
    "thrown: a prototype chain of proxies":
      "const c = new Proxy({}, { getPrototypeOf: () => c, get: () => c, getOwnPropertyDescriptor: () => undefined }); throw c",
    "stack: String of deep arrays": "let d = []; for (let i = 0; i < 1e5; i++) d = [d]; String(d)",
    "parser: nested brackets in the cell": `${"[".repeat(20_000)}1${"]".repeat(20_000)}`,
    "parser: nested functions in the cell": `${"(()=>".repeat(20_000)}1${")".repeat(20_000)}`,
    "parser: a chain of 20,000 operators": `1${"+1".repeat(20_000)}`,
    "parser: 20,000 declarations": `let ${Array.from({ length: 20_000 }, (_, i) => `x${i}`).join(",")}; 1`,
    "parser: TypeScript that overflows its parser": `const f: number = ${"a=>".repeat(60_000)}1`,
    "parser: TypeScript that its parser reads in exponential time": `const x: number = ${"a ? (b) : c => ".repeat(60)}1`,
    "parser: a helper of TypeScript that overflows its parser":
      "try { helpers.add('h', 'const f: number = ' + 'a=>'.repeat(60_000) + '1') } catch {} helpers.list().length",
    "host: texts for Node's own URL, locales and decoders": `const long = "é".repeat(3e5); const seen = [];
     for (const run of [() => new URL("http://" + long), () => new URL("http://a/?" + long).searchParams.sort(), () => "a".localeCompare(long, "x".repeat(1e5)),
       () => (1).toLocaleString(long), () => new Date(0).toLocaleString("en", { timeZone: long }), () => new TextDecoder(long), () => new TextDecoder("gbk").decode(new TextEncoder().encode(long)),
       () => new Date(8.64e15).toLocaleString("en", new Proxy({}, { get: () => long, ownKeys: () => [long] })), () => structuredClone(JSON.parse("[".repeat(5e3) + "]".repeat(5e3)))])
     try { seen.push(String(run()).length) } catch (e) { seen.push(e.name) } seen`,
    "output: hostile values":
      "print(new Proxy({}, { ownKeys() { throw 1 } }), { get x() { throw 2 } }, Object.create(new Proxy({}, {})))",
    "arguments: toJSON that calls back in":
      "memory.put('k', { toJSON() { memory.clear(); return memory.batch([{ op: 'put', key: 'k', value: { toJSON: () => memory.list() } }]) } })",
    "memory: a full heap that goes on in catch":
      "const all = []; for (;;) { try { for (;;) all.push(new Array(1e4).fill(0)) } catch {} }",
    "jobs: a flood of microtasks": "for (let i = 0; i < 3e5; i++) Promise.resolve().then(() => i); 1",
    "host: modules through eval": "await eval(\"import('node:fs')\")",
    "host: modules through Function": "await new Function(\"return import('node:fs')\")()",
  },
  js_error: {
    "result: a revoked proxy": "const r = Proxy.revocable({}, {}); r.revoke(); r.proxy",
    "thrown: an error whose own properties throw":
      "const e = new Error('x'); for (const k of ['name', 'message', 'stack']) Object.defineProperty(e, k, { get() { throw e } }); throw e",
    "thrown: 30 MB of message": "throw new Error('x'.repeat(3e7 / 4).toUpperCase())",
    "arguments: getters that change their mind": "let n = 0; peek({ get valueOf() { n++; return () => n } }, 5)",
  },
};

/** What some of them see. */
const SEEN: Readonly<Record<string, readonly unknown[]>> = {
  "tamper: patched primordials before builtins": [{ a: [1, 2] }, "first", [[11, 15]]],
  "tamper: builtins cannot be replaced": ["first", "string", "function"],
  "tamper: no constructor reaches the host": Array(5).fill("sandbox_violation"),
  "arguments: odd numbers": [
    ...["js_error", "js_error", "string", "string", "string", "string", "string"],
    ...Array(8).fill("js_error"),
  ],
  "host: the surface of globalThis": [],
};

/** Attacks by cells of Belay's own, in the words of its builtins. */
export const CELL_ATTACKS: readonly Attack[] = Object.entries(CELLS).flatMap(([outcome, cells]) =>
  Object.entries(cells).map(([name, code]) => attackBy(name, outcome, code)),
);

function attackBy(name: string, outcome: string, code: string): Attack {
  return {
    id: name,
    class: name.split(":", 1)[0] ?? "",
    title: name,
    async run(stage) {
      const session = await stage.open();
      await stage.load(session, { text: TEXT, name: "notes.txt" });
      // What ends by itself may take its time on a busy machine.
      const { limitMs, patientMs } = stage.bounds;
      const max_execution_ms = outcome === "any" ? limitMs : patientMs;
      const done = await stage.exec(session, code, { limits: { max_execution_ms } });
      const came = done.success ? "ok" : done.error_code;
      if (outcome !== "any") assert.equal(came, outcome);
      const sees = SEEN[name];
      if (sees) assert.ok(isDeepStrictEqual(done.result_json, sees), `it sees ${JSON.stringify(done.result_json)}`);
      return session;
    },
  };
}
