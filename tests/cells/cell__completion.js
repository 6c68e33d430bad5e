1 + 1;
//=> {"success":true,"result_json":2,"result_meta":null,"stdout":"","stderr":"","truncated":false,"warnings":[],"resumed":0,"replayed_sub_calls":0,"tool_override_events":[]}
//---
5; // a trailing comment
//=> {"result_json":5}
//---
5 // a comment without a semicolon
/* and
   another */
//=> {"result_json":5}
//---
x = 6
//=> {"result_json":6}
//---
const y = 7;
//=> {"result_json":null,"warnings":[]}
//---
7;
if (true) 8;
//=> {"result_json":null,"warnings":[]}
//---
8;
for (const i of [1, 2]) i;
//=> {"result_json":null,"warnings":[]}
//---
9;
function nine() {
  return 9;
}
//=> {"result_json":null,"warnings":[]}
//---
nine(), "last";
//=> {"result_json":"last"}
//---
undefined;
//=> {"success":true,"result_json":null,"warnings":[]}
//---
// nothing but a comment
//=> {"success":true,"result_json":null,"warnings":[]}
//---

//=> {"success":true,"result_json":null,"warnings":[]}
//---
"use strict"
//=> {"result_json":"use strict"}
//---
`template ${1 + 1}`
//=> {"result_json":"template 2"}
