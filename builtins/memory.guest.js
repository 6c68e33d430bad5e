// Values are kept as JSON text: what a cell gets is a copy, what it puts cannot change later, and bytes are exact.
(function memory(guest) {
  const { argumentError, fail, isObject } = guest;
  let store = guest.newMap();
  let bytes = 0;
  let limit;

  const sizeOf = (key, json) => guest.utf8Length(key) + guest.utf8Length(json);

  function checkKey(key) {
    if (typeof key !== "string" || key === "") {
      throw argumentError("memory: key must be a string that is not empty", 'Call it as memory.put("name", value).');
    }
    if (key.length > 1024) throw argumentError("memory: key is longer than 1,024 characters", "Use a shorter key.");
  }

  function toJson(value) {
    if (value === undefined) {
      throw argumentError("memory.put: value is undefined", "Put null, or delete the key with memory.delete(key).");
    }
    return guest.render(value, "value", Infinity, (path, what) => {
      throw argumentError(`memory.put: ${path} is ${what}`, "Put plain JSON values.");
    }).json;
  }

  function putJson(key, json) {
    limit ??= guest.call("memory.limit", []);
    const before = store.has(key) ? sizeOf(key, store.get(key)) : 0;
    const after = bytes - before + sizeOf(key, json);
    if (after > limit) {
      throw fail(
        "memory_limit_exceeded",
        `the memory store would hold ${after} bytes (limit ${limit})`,
        "Delete keys that are no longer needed (memory.delete, memory.clear) or store less.",
      );
    }
    store.set(key, json);
    bytes = after;
  }

  const api = {
    put(key, value) {
      checkKey(key);
      putJson(key, toJson(value));
    },
    get(key) {
      checkKey(key);
      return store.has(key) ? guest.parse(store.get(key)) : null;
    },
    delete(key) {
      checkKey(key);
      if (!store.has(key)) return false;
      bytes -= sizeOf(key, store.get(key));
      return store.delete(key);
    },
    list: () => listOf(store.keys()),
    clear() {
      store.clear();
      bytes = 0;
    },
    batch(ops) {
      if (!isObject(ops) || typeof ops.length !== "number") {
        throw argumentError(
          "memory.batch: ops must be an array",
          'Pass [{ op: "put", key, value }, { op: "get", key }].',
        );
      }
      const saved = guest.newMap();
      store.forEach((json, key) => {
        saved.set(key, json);
      });
      const savedBytes = bytes;
      try {
        const results = [];
        for (let i = 0; i < ops.length; i++) guest.append(results, step(ops[i], i));
        return results;
      } catch (error) {
        store = saved;
        bytes = savedBytes;
        throw error;
      }
    },
  };

  function step(given, index) {
    const { op, key, value } = isObject(given) ? given : {};
    if (op === "put") {
      api.put(key, value);
      return { op, key, ok: true };
    }
    if (op === "get") return { op, key, value: api.get(key) };
    if (op === "delete") return { op, key, ok: api.delete(key) };
    throw argumentError(`memory.batch: ops[${index}].op must be put, get or delete`, "Correct that operation.");
  }

  function listOf(keys) {
    const list = [];
    for (let i = 0; i < keys.length; i++) guest.append(list, keys[i]);
    return list;
  }

  const names = ["put", "get", "delete", "list", "clear", "batch"];
  for (const name of names) guest.constant(guest.named(name, api[name]))();
  guest.install("memory", guest.constant({ ...api }));
  for (const name of names) guest.install(`rlm_memory_${name}`, () => api[name]);
  guest.manifest(() => ({ memory_keys: api.list(), memory_bytes_used: bytes }));
  // The host's tools: { op, … } in, the member's value out.
  guest.command("memory", ({ op, key, value, ops }) => {
    const answer = op === "batch" ? api.batch(ops) : api[op](key, value);
    return guest.encode(answer);
  });
  guest.command("memory.export", () => {
    let json = "{";
    store.forEach((value, key) => {
      json += `${json === "{" ? "" : ","}${guest.encode(key)}:${value}`;
    });
    return `${json}}`;
  });
});
