helpers.add("utils", "function outer() {\n  const inner = () => {\n    throw new Error('from the helper');\n  };\n  inner();\n}");
//---
outer();
//=> {"success":false,"error_code":"js_error","line":3,"column":15,
//   "traceback":"Error: from the helper\n    at inner (<helper utils>:3:15)\n    at outer (<helper utils>:5:3)\n    at <cell 2>:1:1"}
//---
helpers.add("oneline", "const boom = () => { throw new Error('col') };");
//---
boom();
//=> {"line":1,"column":32,"traceback":"/<helper oneline>:1:32/"}
