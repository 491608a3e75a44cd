// Wrong tokens, cookies and hosts at the operators' port, as fast as it answers.
import { randomBytes } from "node:crypto";
import type { Attack } from "./attack.ts";
import { answerTo, overAndOver } from "./sockets.ts";

const AT_ONCE = 50;
const PATHS = ["/status", "/keys", "/usage", "/audit", "/events", "/metrics", "/configuration"];

export const tokenGuessing = ({ adminUrl }: { readonly adminUrl: string }): Attack => ({
  name: "guessed tokens",
  run: (target, signal) =>
    overAndOver(AT_ONCE, signal, (turn) => {
      const guess = randomBytes(16).toString("hex");
      const header =
        turn % 2 ? `Authorization: Bearer ${guess}` : `Cookie: headgate-session=${guess}`;
      const head = `GET ${PATHS[turn % PATHS.length]} HTTP/1.1\r\nHost: elsewhere\r\n${header}\r\nConnection: close\r\n\r\n`;
      return answerTo({ ...target, url: adminUrl }, head, signal);
    }),
});
