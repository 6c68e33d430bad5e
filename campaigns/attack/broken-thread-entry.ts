import * as v from "valibot";
import { defineBuiltin } from "../../builtins/define.ts";
import { builtins } from "../../builtins/index.ts";
import { serveSandbox } from "../../runtime/threads/serve.ts";
import type { ContextMessage } from "../../src/session/machine/context-message.ts";
import { openLibrary } from "../../src/session/machine/services.ts";
import { seededRandom } from "../../tests/support/seeded-random.ts";

// The machines' thread with a builtin that overwrites the guest's whole memory, as code in the engine could that was taken over.

let memory: WebAssembly.Memory | undefined;
const { instantiate } = WebAssembly;
Object.assign(WebAssembly, {
  async instantiate(module: WebAssembly.Module, imports: WebAssembly.Imports) {
    const made = await instantiate(module, imports);
    const exported = Object.values(made.exports).find((one) => one instanceof WebAssembly.Memory);
    if (exported instanceof WebAssembly.Memory) memory = exported;
    return made;
  },
});

const overwrite = defineBuiltin({
  ...{ name: "overwrite", signature: "function overwrite(seed: number): null", summary: "Overwrites the memory." },
  ...{ example: "overwrite(1)", params: { seed: v.number() } },
  run: (_services, { seed }) => {
    if (!memory) throw new Error("the memory was not found");
    const random = seededRandom(seed);
    const words = new Uint32Array(memory.buffer);
    for (let at = 0; at < words.length; at++) words[at] = random() * 2 ** 32;
    return null;
  },
});

await serveSandbox<ContextMessage>(() => openLibrary([...builtins, overwrite]));
