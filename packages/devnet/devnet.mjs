// The module that `headgate dev` imports: in the repository it loads the sources, in the package the bundle.
import { existsSync } from "node:fs";

const sources = new URL("src/devnet.ts", import.meta.url);
const bundled = new URL("dist/devnet.mjs", import.meta.url);

export const { startDevnet } = await import((existsSync(sources) ? sources : bundled).href);
