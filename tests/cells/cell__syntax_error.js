const a = 1;
const b = ;
//=> {"success":false,"error_code":"js_error","error_name":"SyntaxError","line":2,"traceback":"/<cell 1>:2:/","suggestion":"/./","result_json":null,"stdout":""}
//---
typeof a
//=> {"result_json":"undefined"}
//---
for i in range(3):
    print(i)
//=> {"success":false,"error_name":"SyntaxError","suggestion":"This looks like Python: cells are JavaScript."}
//---
Here is the code that finds the answer
//=> {"success":false,"error_name":"SyntaxError","suggestion":"/prose/"}
//---
```js
1 + 1
```
//=> {"success":false,"error_name":"SyntaxError","line":1,"column":1,"suggestion":"/fence/"}
//---
function f() { await 1 }
//=> {"success":false,"error_name":"SyntaxError"}
//---
print("never"
//=> {"success":false,"error_name":"SyntaxError","stdout":""}
//---
let twice = 1;
let twice = 2;
//=> {"success":false,"error_code":"js_error","error_name":"SyntaxError","line":2}
//---
typeof twice
//=> {"result_json":"undefined"}
//---
const once = 1;
var once = 2;
//=> {"success":false,"error_name":"SyntaxError"}
