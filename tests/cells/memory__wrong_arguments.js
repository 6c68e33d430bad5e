memory.put("k", undefined);
//=> {"success":false,"error_code":"js_error","error_name":"TypeError","error_message":"/undefined/","suggestion":"/delete/"}
//---
memory.put("", 1);
//=> {"success":false,"error_name":"TypeError","error_message":"/key must be a string/"}
//---
memory.put(1, 1);
//=> {"success":false,"error_name":"TypeError","error_message":"/key must be a string/"}
//---
memory.get();
//=> {"success":false,"error_name":"TypeError"}
//---
memory.put("x".repeat(1025), 1);
//=> {"success":false,"error_message":"/1,024/"}
//---
memory.put("x".repeat(1024), 1);
memory.list().length;
//=> {"result_json":1}
//---
memory.clear();
rlm_memory_put("a", [1]);
rlm_memory_put("b", 2);
[rlm_memory_get("a"), rlm_memory_list(), rlm_memory_batch([{ op: "get", key: "b" }]), rlm_memory_delete("a"), memory.list()];
//=> {"result_json":[[1],["a","b"],[{"op":"get","key":"b","value":2}],true,["b"]]}
//---
[rlm_memory_put === memory.put, rlm_memory_clear(), memory.list()];
//=> {"result_json":[true,null,[]]}
