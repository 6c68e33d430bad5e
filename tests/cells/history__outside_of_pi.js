let code;
try { history.stats() } catch (error) { code = error.code }
code;
//=> {"success":true,"result_json":"context_not_loaded"}
//---
history.find("a");
//=> {"success":false,"error_code":"context_not_loaded","error_message":"Error: there is no conversation here"}
//---
await llm_query("What?", { context: [[0, 4], [0, 4, "history"]] });
//=> {"success":false,"error_code":"js_error","error_message":"TypeError: llm_query: context has places of P and of the history"}
//---
let history = 1;
history + 1;
//=> {"success":true,"result_json":2,"warnings":["builtin_shadowed: history"]}
