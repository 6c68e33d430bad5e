[peek(-10, 5) === P.slice(0, 5), peek(1560, 9999) === P.slice(1560), peek(5000, 6000), peek(20, 10), peek(7, 7)];
//=> {"result_json":[true,true,"","",""]}
