const readers = [];
for (let i = 0; i < 3; i++) readers.push(() => i);
let counter = 0;
const next = () => ++counter;
readers.map((read) => read())
//=> {"result_json":[0,1,2]}
//---
[next(), next(), counter]
//=> {"result_json":[1,2,2]}
//---
let counter = 10;
[next(), counter]
//=> {"result_json":[11,11]}
//---
function hoisted() { return later() }
const early = hoisted();
function later() { return "hoisted" }
early
//=> {"result_json":"hoisted"}
