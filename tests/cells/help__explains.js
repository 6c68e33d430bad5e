help("find");
//=> {"success":true,"result_json":"/^function find\\(.*\n\nRegular-expression search .*\n\ninterface FindResult \\{.*\n\nErrors:\n  context_not_loaded: .*\n\nExample:\nconst \\{ matches/"}
//---
const same = help("memory");
[help(find) === help("find"), help("memory.put") === same, help("rlm_memory_batch") === same];
//=> {"result_json":[true,true,true]}
//---
help("result").split("\n")[0];
//=> {"result_json":"let result: unknown"}
//---
const lines = help().split("\n");
[lines[0], lines.some((line) => line.startsWith("llm_query: ")), lines.some((line) => line.startsWith("print: "))];
//=> {"result_json":["/^P: The whole context as one read-only string \\(UTF-16\\)\\.$/",true,true]}
//---
help("fnd");
//=> {"success":false,"error_code":"js_error","error_message":"RangeError: help: there is no builtin \"fnd\"","suggestion":"/^The builtins are P, peek, /"}
//---
help(5);
//=> {"success":false,"error_message":"TypeError: help: name must be a string, got 5"}
