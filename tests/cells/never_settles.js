await new Promise(() => {});
//=> {"success":false,"error_code":"js_error","error_name":"NeverSettlesError","line":null,"suggestion":"/await/"}
//---
result = new Promise(() => {});
//=> {"success":false,"error_name":"NeverSettlesError"}
//---
const kept = 1;
await { then() {} };
//=> {"success":false,"error_name":"NeverSettlesError"}
//---
kept + 1;
//=> {"success":true,"result_json":2}
