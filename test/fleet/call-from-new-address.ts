// One call on a connection of its own, each from another address, since the gateway slows guesses from one address
// down. The gateway must trust this machine as a proxy.
import { request } from "node:http";

export const TRUSTING = { listen: { port: 0, trustedProxies: ["127.0.0.1"] } };

const BODY = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}';
let callers = 0;

/** @returns The status of the answer. */
export function callFromNewAddress(url: string): Promise<number | undefined> {
  callers += 1;
  const [high, middle, low] = [callers >> 16, callers >> 8, callers].map((part) => part & 255);
  const headers = {
    "content-type": "application/json",
    "content-length": BODY.length,
    "x-forwarded-for": `10.${high}.${middle}.${low}`,
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", agent: false, headers }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    });
    sent.on("error", reject);
    sent.end(BODY);
  });
}
