import * as v from "valibot";
import type { Json } from "../../runtime/index.ts";
import type { Session } from "./api.ts";

/** The host's access to the guest's memory, or to its helpers. */
export interface Access {
  /** An exec of its own. */
  change(input: Json): Promise<Json>;
  read(input: Json): Promise<Json>;
}

export function memoryOf({ change, read }: Access): Session["memory"] {
  return {
    async put(key, value) {
      await change({ op: "put", key, value });
    },
    get: (key) => read({ op: "get", key }),
    delete: async (key) => (await change({ op: "delete", key })) === true,
    list: async () => v.parse(Keys, await read({ op: "list" })),
    async clear() {
      await change({ op: "clear" });
    },
    batch: (ops) => change({ op: "batch", ops: ops.map((op) => ({ ...op })) }),
  };
}

export function helpersOf({ change, read }: Access): Session["helpers"] {
  return {
    async add(name, code) {
      await change({ op: "add", name, code });
    },
    list: async () => v.parse(Scripts, await read({ op: "list" })),
    remove: async (name) => (await change({ op: "remove", name })) === true,
  };
}

/** Answers of the guest's prelude. */
const Keys = v.array(v.string());
const Scripts = v.array(v.object({ name: v.string(), code: v.string(), set_aside: v.exactOptional(v.string()) }));
