memory.put("date", new Date(0));
memory.put("undefined inside", { a: undefined, b: [undefined] });
memory.put("text", "a\0b\u2028😀日本");
memory.put("__proto__", { polluted: true });
memory.put("key with \" and 日本", 1);
[memory.get("date"), memory.get("undefined inside"), memory.get("text"), memory.get("__proto__"), ({}).polluted, memory.list()];
//=> {"result_json":["1970-01-01T00:00:00.000Z",{"b":[null]},"a\u0000b\u2028😀日本",{"polluted":true},null,
//   ["date","undefined inside","text","__proto__","key with \" and 日本"]]}
//---
memory.put("f", { run() {} });
//=> {"success":false,"error_code":"js_error","error_name":"TypeError","error_message":"TypeError: memory.put: value.run is a function"}
//---
memory.put("n", [1, Number.NaN]);
//=> {"success":false,"error_message":"TypeError: memory.put: value[1] is NaN"}
//---
const cycle = [];
cycle.push(cycle);
memory.put("c", cycle);
//=> {"success":false,"error_message":"TypeError: memory.put: value[0] is a cycle"}
//---
memory.put("m", new Map());
//=> {"success":false,"error_message":"TypeError: memory.put: value is a Map"}
//---
memory.list().length;
//=> {"result_json":5}
