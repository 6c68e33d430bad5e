const { sources, ...rest } = stats();
result = { sources: sources.length, ...rest };
//=> {"result_json":{"sources":1,"chars":1563,"tokens":390,"docs":8,"context_hash":"a4d8708a2061a7c258a613437a113ff53018ba8ea741270454a87ef8ceade80d"}}
//---
stats(1);
//=> {"success":false,"error_message":"TypeError: stats takes no arguments"}
//---
const left = budget();
[left.tokens, left.sub_calls, left.time_ms > 0, left.time_ms <= 300000, left.time_ms === left.remaining_time_ms];
//=> {"result_json":[500000,50,true,true,true],"budget":{"remaining_tokens":500000,"remaining_sub_calls":50}}
//---
let began = budget().time_ms;
for (let i = 0, from = Date.now(); Date.now() - from < 30; i++);
began - budget().time_ms >= 25;
//=> {"result_json":true}
//---
limits();
//=> {"result_json":{"max_output_bytes":102400,"max_execution_ms":30000,"max_find_results":10000,"max_result_bytes":1048576}}
//---
//limits {"max_output_bytes":500000,"max_find_results":7,"max_execution_ms":1234}
limits();
//=> {"result_json":{"max_output_bytes":500000,"max_execution_ms":1234,"max_find_results":7,"max_result_bytes":1048576},
//   "limits_applied":{"max_output_bytes":500000,"max_execution_ms":1234,"max_find_results":7,"max_result_bytes":1048576}}
//---
//limits {"max_output_bytes":999999999,"max_find_results":999999999,"max_execution_ms":999999999}
limits();
//=> {"result_json":{"max_output_bytes":1048576,"max_execution_ms":120000,"max_find_results":100000,"max_result_bytes":1048576}}
//---
limits().max_find_results;
//=> {"result_json":10000}
