import type { Json } from "../../runtime/index.ts";
import type { HelperEntry, Session } from "./api.ts";

/** How the guest's memory, or its helpers, are got at from outside. */
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
    list: async () => strings(await read({ op: "list" })),
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
    list: async () => scripts(await read({ op: "list" })),
    remove: async (name) => (await change({ op: "remove", name })) === true,
  };
}

function strings(value: Json): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function scripts(value: Json): HelperEntry[] {
  const text = (item: Json, key: string) => {
    const found: unknown = typeof item === "object" && item !== null ? Reflect.get(item, key) : "";
    return typeof found === "string" ? found : "";
  };
  return Array.isArray(value)
    ? value.map((item: Json) => {
        const why = text(item, "set_aside");
        return { name: text(item, "name"), code: text(item, "code"), ...(why === "" ? {} : { set_aside: why }) };
      })
    : [];
}
