const a = 1;
{
  const a = 2;
  let b = 3;
  class C {}
  function d() { return a }
  print(a, b, typeof C, d());
}
if (true) { let a = 5 }
for (let a = 0; a < 1; a++);
[a, typeof b, typeof C]
//=> {"stdout":"2 3 function 2\n","result_json":[1,"undefined","undefined"]}
//---
for (var i = 0; i < 3; i++) var last = i;
[i, last]
//=> {"result_json":[3,2]}
//---
[i, last, a]
//=> {"result_json":[3,2,1]}
