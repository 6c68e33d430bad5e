"use strict";
undeclared = 1;
//=> {"success":false,"error_name":"ReferenceError","line":2}
//---
undeclared = 1;
undeclared
//=> {"success":true,"result_json":1}
//---
"use strict";
const frozen = Object.freeze({ a: 1 });
frozen.a = 2;
//=> {"success":false,"error_name":"TypeError","line":3}
//---
"use strict";
let kept = 1;
function strictly() { return this === undefined }
strictly()
//=> {"result_json":true}
//---
[kept, strictly()]
//=> {"result_json":[1,true]}
