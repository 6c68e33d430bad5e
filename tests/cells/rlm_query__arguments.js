await rlm_query(" \n");
//=> {"success":false,"error_code":"js_error","error_message":"TypeError: rlm_query: the prompt is empty"}
//---
await rlm_query("Which?", { tools: [] });
//=> {"success":false,"error_code":"js_error","error_message":"TypeError: rlm_query: context and tools do not go together"}
//---
await rlm_query("Which?", { context: find("no such text").matches });
//=> {"success":false,"error_code":"js_error","error_message":"TypeError: rlm_query: context names no text of P"}
//---
await rlm_query("Which?", { context: [[0, 5], { start: 9, end: 3 }] });
//=> {"success":false,"error_code":"js_error","error_message":"RangeError: rlm_query: context[1] is [9, 3]: start and end must be integers, from 0, start before end"}
//---
await rlm_query("Which?", { context: "a text" }, { id: 1 });
//=> {"success":false,"error_code":"js_error","error_message":"TypeError: rlm_query takes 2 arguments (question, options)"}
//---
await llm_query("Which?", { max_turns: 3 });
//=> {"success":false,"error_code":"js_error","error_message":"TypeError: llm_query: max_turns is for calls with context","suggestion":"Pass context too, or leave out max_turns."}
//---
// Without a model nothing is asked, whatever the context is.
await rlm_query("Which?", { context: list_docs() }).catch((error) => [error.name, error.code, error.retriable]);
//=> {"success":true,"result_json":["SubAgentError","no_model_configured",false]}
//---
const rlm_query = (question) => question.length;
rlm_query("mine");
//=> {"success":true,"result_json":4,"warnings":["builtin_shadowed: rlm_query"]}
