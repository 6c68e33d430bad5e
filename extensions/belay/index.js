// Pi lists an extension under the name of its folder. The build writes the module behind this one.
export { default } from "../../dist/src/pi/index.js";
