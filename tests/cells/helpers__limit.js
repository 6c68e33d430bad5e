helpers.add("kept", "const kept = 1;");
helpers.add("big", `/*${"x".repeat(1024 * 1024)}*/`);
//=> {"success":false,"error_code":"helper_limit_exceeded","suggestion":"/helpers\\.remove/"}
//---
[kept, helpers.list().length];
//=> {"result_json":[1,1]}
