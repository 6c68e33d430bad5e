const refused = [];
for (const args of [[], [undefined], [1, { sources: [] }], [1, 2]]) {
  try {
    answer(...args);
    refused.push("taken");
  } catch (error) {
    refused.push(`${error.name}: ${error.message}`);
  }
}
refused;
//=> {"success":true}
