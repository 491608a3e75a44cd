import { EventEmitter, once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { IdentityTokens } from "./identity-tokens.ts";

const SETTINGS = {
  ...{ issuer: "https://idp.example.com/", audience: "headgate", claim: "key" },
  ...{ algorithms: ["ES256"], clockToleranceMs: 0, staleAfterMs: 3_600_000 },
};

async function signer(kid: string) {
  const pair = await generateKeyPair("ES256", { extractable: true });
  const jwk: JWK = { ...(await exportJWK(pair.publicKey)), kid, alg: "ES256" };
  const token = (as = kid): Promise<string> =>
    new SignJWT({ key: "team", iss: SETTINGS.issuer, aud: SETTINGS.audience, exp: 4e9 })
      .setProtectedHeader({ alg: "ES256", kid: as })
      .sign(pair.privateKey);
  return { jwk, token };
}

const first = await signer("first");

let provider: Server;
/** Emits `asked` for each request to the provider. */
let asked: EventEmitter;
let answer: (response: ServerResponse) => void;
let clock: FakeClock;
let tokens: IdentityTokens;
let refused: string[];
const warned: string[] = [];

const serve = (...jwks: readonly JWK[]): void => {
  answer = (response) => response.end(JSON.stringify({ keys: jwks }));
};

beforeEach(async () => {
  asked = new EventEmitter();
  provider = createServer((_, response) => {
    answer(response);
    asked.emit("asked");
  });
  provider.listen(0, "127.0.0.1");
  await once(provider, "listening");
  const keys = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/jwks`;
  clock = new FakeClock();
  refused = [];
  warned.length = 0;
  tokens = new IdentityTokens(
    { ...SETTINGS, keys },
    {
      onForgotten: () => undefined,
      metrics: { tokenRefused: (why) => refused.push(why) },
      clock,
      log: {
        info: () => undefined,
        warn: ({ reason }: { reason: string }) => warned.push(reason),
        debug: () => undefined,
      } as never,
    },
  );
  serve(first.jwk);
});
afterEach(() => {
  tokens.close();
  provider.closeAllConnections();
  provider.close();
});

describe("a provider that is asked for a signing key that nobody knows", () => {
  const cases: readonly [string, typeof answer, string][] = [
    ["is silent", () => undefined, "the server took too long to answer"],
    [
      "sends a byte and no more",
      (response) => response.write(" "),
      "the server took too long to answer",
    ],
    [
      "sends one interim answer after the other",
      (response) => response.writeProcessing(),
      "the server took too long to answer",
    ],
    [
      "changes the protocol",
      ({ socket }) =>
        socket?.write(
          "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        ),
      "the server closed the connection without an answer",
    ],
    [
      "redirects",
      (response) => response.writeHead(302, { location: "/" }).end(),
      "the server answered 302",
    ],
    [
      "breaks off",
      (response) => {
        response.writeHead(200, { "content-length": "100" }).flushHeaders();
        response.socket?.end("{");
      },
      "aborted",
    ],
  ];
  it.each(cases)("and %s is given up, and asked again", async (_, broken, reason) => {
    expect(await tokens.verify(await first.token())).toBe("verified");
    answer = broken;
    const isAsked = once(asked, "asked");
    const unknown = tokens.verify(await first.token("unknown"));
    await isAsked;
    if (reason === "the server took too long to answer") await clock.advance(5_000);
    expect(await unknown).toBe("refused");
    expect(refused).toEqual(["unknown signer"]);
    expect(warned).toEqual([reason]);
    const second = await signer("second");
    serve(second.jwk);
    expect(await tokens.verify(await second.token())).toBe("verified");
    expect(clock.waiting).toBe(0);
  });

  it("holds up no token of a key that is known", async () => {
    expect(await tokens.verify(await first.token())).toBe("verified");
    answer = () => undefined;
    const isAsked = once(asked, "asked");
    const text = await first.token("unknown");
    const flood = Array.from({ length: 100 }, () => tokens.verify(text));
    await isAsked;
    expect(await tokens.verify(await first.token())).toBe("verified");
    await clock.advance(5_000);
    const outcomes = await Promise.all(flood);
    expect(outcomes.filter((outcome) => outcome === "refused")).toHaveLength(64);
    expect(outcomes.filter((outcome) => outcome === "unavailable")).toHaveLength(36);
  });
});
