import { belayExtension } from "./extension.ts";
import { openView } from "./view/index.ts";

/** The entry that Pi loads. */
export default belayExtension(openView());
