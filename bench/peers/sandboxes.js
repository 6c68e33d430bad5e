// One form for the sandboxes that are compared. `open(ask, options)` gives what runs cells: `run(statements, value)` runs the
// statements and answers the value of the expression. Cells call the host by `call(n)`. `save()` answers what another process can
// be given as `saved`; a sandbox that has none cannot restore state.

/** What a cell may hold, bytes. */
export const LIMIT_BYTES = 64 * 2 ** 20;

export const SANDBOXES = {
  async belay(library) {
    const { openSession } = await import(library);
    return {
      call: (n) => `await llm_query("${n}")`,
      async open(ask, { store } = {}) {
        const session = await openSession({
          model: "own/bench",
          complete: async ({ messages }) => String(await ask(messages.at(-1).text)),
          memoryMb: LIMIT_BYTES / 2 ** 20,
          budget: { max_sub_calls: 1e6, max_tokens: 1e12, max_time_ms: 36e5 },
          ...(store ? { store, session: "bench" } : {}),
        });
        return {
          async run(statements, value) {
            const unfinished = session.unfinished();
            const envelope = unfinished
              ? (await session.resume()).envelope
              : await session.exec(`${statements}; ${value}`);
            if (!envelope.success) throw new Error(envelope.error_message);
            return envelope.result_json;
          },
          // Each exec's end is in the store already.
          save: store ? async () => ({}) : undefined,
          close: () => session.close(),
        };
      },
    };
  },

  async ax() {
    const { AxJSRuntime } = await import("@ax-llm/ax");
    return {
      call: (n) => `await ask("${n}")`,
      async open(ask, { saved } = {}) {
        const resourceLimits = { maxOldGenerationSizeMb: LIMIT_BYTES / 2 ** 20 };
        const runtime = new AxJSRuntime({ outputMode: "return", timeout: 60_000, resourceLimits });
        const session = runtime.createSession({ ask });
        if (saved) await session.patchGlobals(saved);
        return {
          async run(statements, value) {
            // What awaits nothing is a script, and what fails is answered as a text.
            const end = statements.includes("await") ? `return ${value}` : value;
            const found = await session.execute(statements ? `${statements}; ${end}` : end);
            if (typeof found === "string" && /^\w*Error\b/.test(found)) throw new Error(found);
            return found;
          },
          save: async () => (await session.snapshotGlobals()).bindings,
          close: () => session.close(),
        };
      },
    };
  },

  async langchain() {
    const [{ ReplSession }, { tool }, { z }] = await Promise.all([
      import("@langchain/quickjs"),
      import("@langchain/core/tools"),
      import("zod"),
    ]);
    let opened = 0;
    return {
      call: (n) => `await tools.ask({ n: "${n}" })`,
      async open(ask) {
        const told = { name: "ask", description: "Answers.", schema: z.object({ n: z.string() }) };
        const tools = [tool(async ({ n }) => String(await ask(n)), told)];
        const options = { tools, memoryLimitBytes: LIMIT_BYTES, maxPtcCalls: null };
        const session = ReplSession.getOrCreate(`bench-${opened++}`, options);
        return {
          async run(statements, value) {
            const { ok, value: found, error } = await session.eval(`${statements}; ${value}`, 60_000);
            if (!ok) throw new Error(error?.message);
            return found;
          },
          close: () => session.dispose(),
        };
      },
    };
  },

  async codemode() {
    const { CodemodeSandbox } = await import("@earendil-works/pi-codemode");
    return {
      call: (n) => `await tools.ask({ n: "${n}" })`,
      async open(ask, { saved = {} } = {}) {
        const tools = [{ name: "ask", execute: async ({ n }) => String(await ask(n)) }];
        const sandbox = new CodemodeSandbox({ timeoutMs: 60_000, tools, memoryLimitBytes: LIMIT_BYTES });
        const store = { ...saved };
        // Variables end with each script: what lasts are the JSON values that it stores.
        return {
          async run(statements, value) {
            const result = await sandbox.execute(
              `var x = load("x"); ${statements}; const found = ${value}; if (x !== undefined) store("x", x); return found`,
              { store },
            );
            if (!result.ok) throw new Error(result.error.message);
            Object.assign(store, result.storeWrites.set);
            return result.value;
          },
          save: async () => store,
          close: () => sandbox.close(),
        };
      },
    };
  },

  async "quickjs-emscripten"() {
    const { getQuickJS } = await import("quickjs-emscripten");
    return {
      call: (n) => `await ask("${n}")`,
      async open(ask) {
        const runtime = (await getQuickJS()).newRuntime();
        runtime.setMemoryLimit(LIMIT_BYTES);
        const context = runtime.newContext();
        const asked = context.newFunction("ask", (n) => {
          const promise = context.newPromise();
          Promise.resolve(ask(context.getString(n))).then((answer) => {
            context.newString(String(answer)).consume((text) => promise.resolve(text));
            runtime.executePendingJobs();
          });
          return promise.handle;
        });
        context.setProp(context.global, "ask", asked);
        asked.dispose();
        return {
          async run(statements, value) {
            const code = `(async () => { ${statements}; return ${value} })()`;
            const settled = context.resolvePromise(context.unwrapResult(context.evalCode(code)));
            runtime.executePendingJobs();
            return context.unwrapResult(await settled).consume(context.dump);
          },
          close() {
            context.dispose();
            runtime.dispose();
          },
        };
      },
    };
  },

  async sebastianwessel() {
    const [{ loadQuickJs }, { default: variant }] = await Promise.all([
      import("@sebastianwessel/quickjs"),
      import("@jitl/quickjs-ng-wasmfile-release-sync"),
    ]);
    return {
      call: (n) => `await env.ask("${n}")`,
      async open(ask) {
        const { runSandboxed } = await loadQuickJs(variant);
        const over = Promise.withResolvers();
        const ready = Promise.withResolvers();
        // A sandbox lives as long as the function that is given to it.
        const running = runSandboxed(
          async ({ evalCode }) => {
            ready.resolve(evalCode);
            await over.promise;
          },
          { env: { ask: async (n) => String(await ask(n)) }, memoryLimit: LIMIT_BYTES, executionTimeout: 60_000 },
        );
        running.catch(ready.reject);
        const evalCode = await ready.promise;
        return {
          async run(statements, value) {
            const { ok, data, error } = await evalCode(`${statements}; export default ${value}`);
            if (!ok) throw new Error(error?.message);
            return data;
          },
          async close() {
            over.resolve();
            await running;
          },
        };
      },
    };
  },
};
