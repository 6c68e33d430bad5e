job;
//=> {"success":true,"result_json":null}
//---
let job = 1;
job + 1;
//=> {"success":true,"result_json":2,"warnings":["builtin_shadowed: job"]}
//---
job;
//=> {"success":true,"result_json":1,"warnings":[]}
