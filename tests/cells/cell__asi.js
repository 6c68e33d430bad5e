const a = 1
const b = 2
a + b
//=> {"result_json":3}
//---
let c = 5
;[1, 2].map((v) => v * c)
//=> {"result_json":[5,10]}
//---
let d = 8, g = 2
d
/2/g
//=> {"result_json":2}
//---
d / 2 / g + "x/y".replace(/\//g, "-").length
//=> {"result_json":5}
//---
let n = 1
n
++n
n
//=> {"result_json":2}
//---
const f = () => {
  return
  1
}
f() === undefined
//=> {"result_json":true}
//---
do n++; while (n < 5) n
//=> {"result_json":5}
