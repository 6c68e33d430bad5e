let x = 1, y = 2;
var z = 3;
//---
let x, y = 4;
var z;
[x === undefined, y, z]
//=> {"result_json":[true,4,3]}
//---
let y, x = 5;
[y === undefined, x]
//=> {"result_json":[true,5]}
