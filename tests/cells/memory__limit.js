memory.put("kept", "k");
memory.put("big", "x".repeat(5 * 1024 * 1024));
//=> {"success":false,"error_code":"memory_limit_exceeded","error_message":"/memory store.*5242880/","suggestion":"/memory\\.delete/"}
//---
[memory.list(), memory.get("kept")];
//=> {"result_json":[["kept"],"k"]}
//---
memory.clear();
memory.put("x", "y".repeat(5 * 1024 * 1024 - 3));
session().memory_bytes_used;
//=> {"success":true,"result_json":5242880}
//---
let code;
try {
  memory.put("z", 1);
} catch (error) {
  code = error.code;
}
code;
//=> {"result_json":"memory_limit_exceeded"}
//---
memory.put("x", "smaller");
memory.put("z", 1);
memory.list();
//=> {"result_json":["x","z"]}
//---
let full = 0;
try {
  for (; full < 1e6; full++) memory.put(`k${full}`, "é".repeat(10000));
} catch (error) {
  full = [error.code, full];
}
full;
//=> {"result_json":["memory_limit_exceeded",262]}
