// Runs inside a gateway: writes one log line for each loaded module of its packages.
import { registerHooks } from "node:module";

registerHooks({
  load: (url, context, next) => {
    if (url.includes("/node_modules/"))
      process.stdout.write(`${JSON.stringify({ msg: "loaded", url })}\n`);
    return next(url, context);
  },
});
