let first
[first] = [3]
first
//=> {"success":true,"result_json":3}
//---
let second
(function run() { second = 4 })()
second
//=> {"success":true,"result_json":4}
//---
let third
-1
//=> {"success":true,"result_json":-1}
//---
third
//=> {"result_json":null}
//---
let fourth
/x/.test("x")
//=> {"success":true,"result_json":true}
//---
let fifth
`text`
//=> {"success":true,"result_json":"text"}
