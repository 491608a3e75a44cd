// Who may stand between callers and the server, and is believed about who called.
import { z } from "zod";

const range = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: "expected an IP address or a range such as 10.0.0.0/8",
});

export const proxySettings = {
  trustedProxies: z
    .array(range)
    .prefault([])
    .describe(
      "The addresses and ranges of proxies that are believed about who called them; left out: none, and the header of a stranger is ignored.",
    ),
  forwardedHeader: z
    .enum(["x-forwarded-for", "forwarded"], { error: "expected x-forwarded-for or forwarded" })
    .prefault("x-forwarded-for")
    .describe(
      "The header in which trusted proxies tell the caller's address: each appends it, and none passes on what a caller wrote into it as its own.",
    ),
};
