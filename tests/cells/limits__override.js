limits();
//=> {"result_json":{"max_output_bytes":102400,"max_execution_ms":30000,"max_find_results":10000}}
//---
//limits {"max_output_bytes":500000,"max_find_results":7,"max_execution_ms":1234.9}
limits();
//=> {"result_json":{"max_output_bytes":500000,"max_execution_ms":1234,"max_find_results":7},
//   "limits_applied":{"max_output_bytes":500000,"max_execution_ms":1234,"max_find_results":7}}
//---
//limits {"max_output_bytes":999999999,"max_find_results":999999999,"max_execution_ms":999999999}
limits();
//=> {"result_json":{"max_output_bytes":1048576,"max_execution_ms":120000,"max_find_results":100000}}
//---
limits().max_find_results;
//=> {"result_json":10000}
