const found = find("class\\s+(\\w+)", "i");
rlm_memory_put("classes", found.matches.slice(0, 50).map(([start, end]) => ({ start, end })));
result = { pass: 1, found: found.matches.length, capped: found.capped };
//=> {"result_json":{"pass":1,"found":3,"capped":false}}
//---
const names = rlm_memory_get("classes").map(({ start, end }) => peek(start, end).split(" ")[1]);
const existing = rlm_memory_get("items") ?? [];
rlm_memory_put("items", [...existing, ...names]);
result = { pass: 2, items: rlm_memory_get("items") };
//=> {"result_json":{"pass":2,"items":["LoginService","InvoiceParser","InvoiceError"]}}
