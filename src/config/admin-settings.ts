// The operator's side: where it listens, and what its callers have to know. Beyond this machine
// nobody is let in without a token (agreement.ts).
import { z } from "zod";
import { listenOn } from "./server-settings.ts";
import { textOf } from "./units.ts";

export const admin = z.strictObject({
  listen: listenOn(8546).prefault({}).describe("Where metrics and administration listen."),
  token: textOf(
    /^[A-Za-z0-9._~+/-]{16,256}=*$/,
    "16 to 256 characters of A-Z, a-z, 0-9, '.', '_', '~', '+', '/' and '-'",
  )
    .optional()
    .describe(
      "What every request must carry as `Authorization: Bearer …`; needed beyond loopback. Take it from a variable.",
    ),
});

/**
 * Whether only this machine reaches the address. Other names than localhost are not looked up: what
 * they mean is decided elsewhere, and may change.
 */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);
