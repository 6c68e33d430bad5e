"x".repeat(2 * 1024 * 1024);
//=> {"success":true,"result_json":null,"warnings":["result_too_large: 2 MB > 1 MB"]}
//---
result = "small";
result_meta = "x".repeat(1024 * 1024);
//=> {"success":true,"result_json":null,"result_meta":null,"warnings":["/^result_too_large: /"]}
//---
"x".repeat(1024 * 1024 - 2).length + "y".repeat(1024 * 1024 - 20);
//=> {"success":true,"warnings":[]}
//---
"é".repeat(600 * 1024);
//=> {"success":true,"result_json":null,"warnings":["/^result_too_large: 1.2 MB > 1 MB$/"]}
//---
Array.from({ length: 300000 }, (_, i) => ({ i, s: "yyyyyyyyyyyyyyyyyyyyyyyyyyyy" }));
//=> {"success":true,"result_json":null,"warnings":["/^result_too_large: more than .* MB > 1 MB$/"]}
//---
"after"
//=> {"result_json":"after","warnings":[]}
