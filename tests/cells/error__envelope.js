print("before");
missing.thing;
//=> {"success":false,"error_code":"js_error","error_name":"ReferenceError","error_message":"ReferenceError: missing is not defined",
//   "line":2,"column":1,"traceback":"ReferenceError: missing is not defined\n    at <cell 1>:2:1",
//   "suggestion":"Check the spelling of missing, or define it before this line.",
//   "result_json":null,"result_meta":null,"stdout":"before\n","stderr":"","truncated":false,"warnings":[],
//   "tool_override_events":[],"resumed":0,"replayed_sub_calls":0,
//   "limits_applied":{"max_output_bytes":102400,"max_execution_ms":30000,"max_find_results":10000,"max_result_bytes":1048576}}
//---
undefined.x;
//=> {"success":false,"error_name":"TypeError","suggestion":"/\\?\\./"}
//---
(function deep() {
  deep();
})();
//=> {"success":false,"error_code":"js_error","error_name":"RangeError","suggestion":"/recursion/"}
//---
null.f();
//=> {"success":false,"error_name":"TypeError"}
//---
const fixed = Object.freeze([1]);
fixed.push(2);
//=> {"success":false,"error_name":"TypeError","line":2}
