rlm_memory_put("a", [1]);
rlm_memory_put("b", 2);
[rlm_memory_get("a"), rlm_memory_list(), rlm_memory_batch([{ op: "get", key: "b" }]), rlm_memory_delete("a"), memory.list()];
//=> {"result_json":[[1],["a","b"],[{"op":"get","key":"b","value":2}],true,["b"]]}
//---
[rlm_memory_put === memory.put, rlm_memory_clear(), memory.list()];
//=> {"result_json":[true,null,[]]}
